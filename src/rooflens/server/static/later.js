// Panels whose answers take longer, or do not follow the batch: they are asked for when the state rests.
import { by, el, put } from "./dom.js";
import { ask } from "./ask.js";
import { aloud, page, words } from "./page.js";

const SETTLED_MS = 350;
const later = { found: {}, of: {}, timer: null };

// The last answer of this kind; of a state, only where it is of that.
export function known(kind, key = null) {
  return key === null || later.of[kind] === JSON.stringify(key) ? later.found[kind] : undefined;
}

export function forget() {
  later.of = {};
}

// panels: kind, the state that it asks with, what shows its answer, and what it says until then.
export function settle(panels) {
  clearTimeout(later.timer);
  later.timer = setTimeout(async () => {
    const { state } = page;
    for (const panel of panels(state)) {
      if (later.of[panel.kind] !== JSON.stringify(panel.key)) await answered(panel, state);
      if (page.state !== state) return;
    }
  }, SETTLED_MS);
}

async function answered(panel, state) {
  const { kind, key, show, meanwhile } = panel;
  const home = by(kind);
  const wanted = () => page.state === state;
  later.of[kind] = null;  // until it is here, what the panel shows is of no state
  home.classList.add("busy");
  if (meanwhile && !later.found[kind]) put(home, el("p", { class: "soft" }, words(meanwhile)));
  try {
    const found = await ask(kind, key, words, { wanted, waiting: (why) => wanted() && waits(home, why) });
    if (!wanted()) return;
    later.found[kind] = found;
    later.of[kind] = JSON.stringify(key);
    show(found);
    aloud("");
  } catch (error) {
    if (!wanted()) return;
    delete later.found[kind];
    const again = () => { answered(panel, state); };
    put(home, el("p", { class: "soft" }, error.message), error.later ? el("button", { type: "button", class: "ask_again", onclick: again }, words("ask_again")) : null);
    aloud(error.message);
  }
  home.classList.remove("busy");
  document.body.dataset[kind] = "yes";
}

function waits(home, why) {
  const sentence = `${why}; ${words("asks_again")}`;
  put(home, el("p", { class: "soft" }, sentence));
  aloud(sentence);
}

// What the page is at: its state, the answer that is shown, and what it says aloud.
import { by } from "./dom.js";

const NOTED_MS = 8000;
export const page = { state: null, answer: null, start: null, plot: null, lever: null, asking: false, again: false, fresh: "", faults: {} };

export const words = (name) => page.start.words[page.state.lang][`page.${name}`] ?? name;

// What is seen and read aloud for a while, over the page: nothing moves.
export function note(sentence) {
  clearTimeout(page.noted);
  by("status").textContent = sentence;
  if (sentence) page.noted = setTimeout(() => note(""), NOTED_MS);
}

// What is read aloud and seen elsewhere.
export function aloud(sentence) {
  by("aloud").textContent = sentence;
}

// What went wrong with the state, until one has an answer, and with what is asked beside it; `again` for what may be
// asked once more.
export function fault(sentence, again = null, of = "state") {
  if (of === "state" && !sentence) page.faults = {};
  else page.faults[of] = { sentence, again };
  const faults = Object.values(page.faults).filter((one) => one.sentence);
  const all = [...new Set(faults.map((one) => one.sentence))].join("\n");
  const several = faults.map((one) => one.again).filter(Boolean);
  if (by("error").textContent !== all) by("error").textContent = all;
  by("fault").classList.toggle("none", !all);
  by("again").hidden = !several.length;
  by("again").onclick = () => { for (const one of several) one(); };
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(words("copied"));
  } catch {
    note(text);  // where a page may not copy, a person can
  }
}

// The page: controls make a state, the state is a link, answers fill the panels. Every number comes from Python.
import { by, el, put, svg } from "./dom.js";
import { PLAIN, fromLink, toLink } from "./link.js";
import { ask, held, told } from "./ask.js";
import { MARKS, Plot } from "./plot.js";
import { curve } from "./chart.js";
import { showCeilings, showChange, showClaim, showCommands, showFile, showLevers, showOperators, showPrediction } from "./panels.js";
import { csv, picture, png, save } from "./keep.js";

const COUNTS = ["context", "tp", "pp", "ep"];
const CHOSEN = ["weights", "kv", "math", "engine"];
const SETTLED_MS = 350;
const NOTED_MS = 8000;
const page = { state: null, answer: null, file: null, start: null, plot: null, slow: {}, turn: 0, asking: false, again: false, fresh: "", slowFor: {} };
const words = (name) => page.start.words[page.state.lang][`page.${name}`] ?? name;

// The newest state is asked for, one at a time: what was dragged past is not.
async function answer() {
  if (page.asking) { page.again = true; return; }
  page.asking = true;
  do {
    page.again = false;
    const asked = page.state;
    try {
      const found = await ask("state", asked, words);
      if (asked.lang === page.state.lang) shown(found, asked);
      fault("");
      document.body.classList.remove("stale");
    } catch (error) {
      fault(error.message);
      document.body.classList.add("stale");  // what is shown answers an older question
    }
  } while (page.again);
  page.asking = false;
  settle();
}

function shown(found, asked) {
  const fresh = JSON.stringify({ ...asked, batch: 0, lang: "", context: 0 });
  page.answer = found;
  page.shownFor = JSON.stringify(asked);
  by("subtitle").textContent = `${found.plot.title}: ${found.plot.subtitle}`;
  page.plot.show(found.plot, fresh !== page.fresh);
  if (fresh !== page.fresh || asked.lang !== page.shownLang) roofs(found.plot);
  page.fresh = fresh;
  page.shownLang = asked.lang;
  showPrediction(found.predicted, words);
  showOperators(found.operators);
  showCommands(found.commands, words, copy);
  put(by("notes"), ...[...found.plot.notes, ...found.notes].map((text) => el("li", {}, text)));
  if (page.lever?.before) showChange(page.lever.name, page.lever.before, found.predicted, words, undo);
  else by("applied").hidden = true;
  document.body.dataset.batch = asked.batch;
  document.body.dataset.ready = "yes";
  chart();
}

function roofs(plot) {
  const made = [...plot.slopes, ...plot.roofs].map((line) => {
    const box = el("input", { type: "checkbox", onchange: (event) => page.plot.toggle(line.label, event.target.checked) });
    box.checked = !page.plot.off.has(line.label);
    const machine = plot.machines.length > 1 ? ` (${plot.machines[line.machine].title})` : "";
    return el("label", { class: "check" }, box, `${line.label}${machine}`);
  });
  put(by("roofs"), ...made);
  const mark = (at) => svg("svg", { viewBox: "-9 -9 18 18", "aria-hidden": "true" }, svg("path", { class: `f${at}`, d: MARKS[at] }));
  put(by("machines"), ...plot.machines.map((machine, at) => el("li", {}, mark(at), machine.title)));
}

function chart() {
  if (!page.slow.batching) return;
  const { batches, free, text } = page.slow.batching;
  by("free").textContent = text;
  by("free_bar").title = text;
  by("free_bar").firstChild.style.width = `${(100 * batches.indexOf(free ?? batches.at(-1))) / (batches.length - 1)}%`;
  curve(by("batching"), page.slow.batching, page.state.batch, page.start.counts);
}

// What takes longer, or does not follow the batch, is asked for when the state rests.
function settle() {
  clearTimeout(page.timer);
  page.timer = setTimeout(async () => {
    const state = page.state;
    for (const [kind, key, done] of [
      ["batching", { ...state, batch: 1 }, () => chart()],
      ["ceilings", { ...state, batch: 1 }, (found) => showCeilings(found)],
      ["levers", held ? { ...state, batch: held.start.first.batch } : state, (found) => showLevers(found, words, held ? null : pull)],
    ]) {
      const said = JSON.stringify(key);
      if (page.slowFor[kind] === said) continue;
      page.slowFor[kind] = null;  // until it is here, what the panel shows is of no state
      const home = by(kind);
      home.classList.add("busy");
      if (kind === "levers" && !page.slow.levers) put(home, el("p", { class: "soft" }, words("pricing")));
      try {
        const found = await ask(kind, key, words);
        if (page.state !== state) return;
        page.slow[kind] = found;
        page.slowFor[kind] = said;
        done(found);
      } catch (error) {
        if (page.state !== state) return;
        delete page.slow[kind];
        put(home, el("p", { class: "soft" }, error.message));
      }
      home.classList.remove("busy");
      document.body.dataset[kind] = "yes";
    }
  }, SETTLED_MS);
}

function change(changed, { remember = true, lever = null } = {}) {
  page.lever = lever;
  const state = { ...page.state, ...changed };
  for (const name of CHOSEN) if (!state[name]) delete state[name];
  page.state = state;
  history[remember ? "pushState" : "replaceState"](null, "", toLink(state));
  controls();
  answer();
}

function pull(name, set) {
  const before = page.state;
  change(set, { lever: { name, before: page.answer.predicted, state: before } });
}

function undo() {
  change({ ...Object.fromEntries(Object.keys(page.state).map((name) => [name, PLAIN[name]])), ...page.lever.state });
}

function options(select, several, empty = null) {
  const made = several.map(([value, text]) => el("option", { value }, text));
  put(select, ...(empty === null ? [] : [el("option", { value: "" }, empty)]), ...made);
}

function choices() {
  const { start } = page;
  const groups = (empty) => {
    const by_vendor = new Map();
    for (const chip of start.machines) by_vendor.set(chip.vendor, [...(by_vendor.get(chip.vendor) ?? []), chip]);
    const own = [...start.given, ...start.measured];
    const chips = [...by_vendor].map(([vendor, several]) => el("optgroup", { label: vendor || "?" }, ...several.map((chip) => el("option", { value: chip.id }, chip.name))));
    const first = own.length ? [el("optgroup", { label: words("measured") }, ...own.map((name) => el("option", { value: name }, name)))] : [];
    return [...(empty ? [el("option", { value: "" }, words("nothing"))] : []), ...first, ...chips];
  };
  for (let at = 0; at < 4; at += 1) put(by(`machine${at}`), ...groups(at > 0));
  options(by("model"), start.models.map((name) => [name, name]));
  options(by("weights"), start.weights.map((name) => [name, name]), words("as_stored"));
  options(by("kv"), start.kv.map((name) => [name, name]), words("as_stored"));
  options(by("math"), start.math.map((name) => [name, name]), words("by_machine"));
  options(by("engine"), start.engines.map((name) => [name, name]), words("in_general"));
  put(by("names"), ...start.machines.map((chip) => el("option", { value: chip.id })));
  by("batch").max = start.batches.length - 1;
}

// The controls as the state has them; a value that no list offers is added to it.
function controls() {
  const { state } = page;
  const pick = (select, value) => {
    if (value && ![...select.options].some((option) => option.value === value)) select.append(el("option", { value }, value));
    select.value = value ?? "";
  };
  pick(by("model"), state.model);
  for (let at = 0; at < 4; at += 1) pick(by(`machine${at}`), state.machines[at]);
  if (state.machines.length > 1) by("compare").open = true;
  by("phase").value = state.phase;
  for (const name of COUNTS) if (document.activeElement !== by(name)) by(name).value = state[name];
  for (const name of CHOSEN) pick(by(name), state[name]);
  by("lang").value = state.lang;
  const { batches } = page.start;
  const at = batches.findLastIndex((batch) => batch <= state.batch);
  if (batches[by("batch").value] !== state.batch) by("batch").value = Math.max(0, at);
  by("batch").setAttribute("aria-valuetext", `${state.batch}`);
  by("batch_shown").textContent = state.batch;
  if (document.activeElement !== by("batch_exact")) by("batch_exact").value = state.batch;
}

function tell() {
  const { lang } = page.state;
  document.documentElement.lang = lang;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = words(node.dataset.say);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", words(node.dataset.label));
  page.plot.draw();
}

function listen() {
  by("batch").addEventListener("input", (event) => change({ batch: page.start.batches[event.target.value] }, { remember: false }));
  by("batch_exact").addEventListener("change", (event) => whole(event.target, "batch"));
  for (const name of COUNTS) by(name).addEventListener("change", (event) => whole(event.target, name));
  for (const name of [...CHOSEN, "phase"]) by(name).addEventListener("change", (event) => change({ [name]: event.target.value }));
  by("model").addEventListener("change", (event) => {
    const known = page.start.models.includes(event.target.value);
    change({ model: event.target.value, config: known ? undefined : page.state.config });
  });
  for (let at = 0; at < 4; at += 1) {
    by(`machine${at}`).addEventListener("change", () => {
      const named = [0, 1, 2, 3].map((one) => by(`machine${one}`).value).filter(Boolean);
      change({ machines: [...new Set(named)] });
    });
  }
  by("lang").addEventListener("change", (event) => { page.slowFor = {}; change({ lang: event.target.value }); choices(); controls(); tell(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); by("plot").focus(); });  // what is behind the # is the state
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  by("zoom_in").addEventListener("click", () => page.plot.zoom(1 / 1.25));
  by("zoom_out").addEventListener("click", () => page.plot.zoom(1.25));
  by("see_all").addEventListener("click", () => { page.plot.fit(); page.plot.draw(); });
  by("linear").addEventListener("change", (event) => page.plot.setLinear(event.target.checked));
  by("claim").addEventListener("submit", judge);
  by("file").addEventListener("change", (event) => { if (event.target.files[0]) dropped(event.target.files[0]); event.target.value = ""; });
  for (const name of ["dragover", "dragleave", "drop"]) document.addEventListener(name, dropping);
  window.addEventListener("popstate", () => open(false));
  window.addEventListener("hashchange", () => { if (location.hash !== toLink(page.state)) open(false); });
  new ResizeObserver(() => chart()).observe(by("batching"));
  by("copy_link").addEventListener("click", () => copy(location.href));
  const named = () => `${page.state.model}-${page.state.machines[0]}-b${page.state.batch}`.replace(/[^\w.-]+/g, "-");
  by("keep_svg").addEventListener("click", () => save(`${named()}.svg`, picture(page.plot.root, page.answer.plot.title).text, "image/svg+xml"));
  by("keep_png").addEventListener("click", async () => save(`${named()}.png`, await png(page.plot.root, page.answer.plot.title)));
  by("keep_csv").addEventListener("click", () => save(`${named()}.csv`, csv(page.answer.place), "text/csv"));
  by("keep_json").addEventListener("click", () => {
    const { schema, state, place, predict } = page.answer;
    save(`${named()}.json`, `${JSON.stringify({ schema, state, place, predict, ...page.slowFor.levers === page.shownFor && { advise: page.slow.levers.advise } }, null, 1)}\n`, "application/json");
  });
}

function whole(input, name) {
  const value = Number(input.value);
  if (Number.isSafeInteger(value) && value >= 1) change({ [name]: value });
  else input.value = page.state[name];
}

async function judge(event) {
  event.preventDefault();
  const said = { first: by("claim_first").value.trim(), second: by("claim_second").value.trim(), says: by("claim_says").value.trim() };
  const asked = Object.fromEntries(Object.entries(said).filter(([, text]) => text));
  if (by("claim_times").value) asked.times = Number(by("claim_times").value);
  try {
    showClaim(await ask("claim", { ...asked, lang: page.state.lang }, words));
    fault("");
  } catch (error) {
    fault(error.message);
  }
}

function dropping(event) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("over", event.type === "dragover");
  if (event.type === "drop" && event.dataTransfer.files[0]) dropped(event.dataTransfer.files[0]);
}

async function dropped(file) {
  if (held) { fault(words("offline")); return; }
  note(`${words("reading")} ${file.name}`);
  const said = new URLSearchParams({ name: file.name, on: page.state.machines[0], lang: page.state.lang });
  try {
    const reply = await fetch(`api/file?${said}`, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file }).catch(() => { throw new Error(words("no_answer")); });
    const found = await told(reply, words);
    showFile(found);
    page.plot.foreign = found.spots ?? [];
    page.plot.draw();
    if (found.kind === "config") change({ model: found.name, config: found.config });
    fault("");
    document.querySelector(".files").scrollIntoView({ block: "nearest" });
  } catch (error) {
    fault(error.message);
  }
  note("");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(words("copied"));
  } catch {
    note(text);  // where a page may not copy, a person can
  }
}

// What is seen and read aloud for a while, over the page: nothing moves.
function note(sentence) {
  clearTimeout(page.noted);
  by("status").textContent = sentence;
  if (sentence) page.noted = setTimeout(() => note(""), NOTED_MS);
}

function fault(sentence) {
  if (by("error").textContent !== sentence) by("error").textContent = sentence;
}

// The state of the address, or the one that the page was started with.
function open(first) {
  const lang = page.state?.lang ?? document.documentElement.lang;
  const found = fromLink(location.hash, lang);
  const known = found && ["en", "es", "vi"].includes(found.state.lang);
  page.state = known ? found.state : { ...PLAIN, ...page.start.first, ...(first ? { lang } : {}) };
  page.lever = null;
  if (!by("claim_first").value) by("claim_first").value = page.state.machines[0].split(",")[0].replace("measured:", "");
  choices();
  controls();
  tell();
  if (found ? !(found.whole && known) : location.hash.length > 1) note(words("bad_link"));
  answer();
}

async function begin() {
  page.start = held ? held.start : await told(await fetch("start"), (name) => name);
  page.state = { ...PLAIN, ...page.start.first, lang: document.documentElement.lang };
  page.plot = new Plot(by("plot"), Object.assign(words, { decades: page.start.decades }), (name) => {
    for (const row of document.querySelectorAll("#operators tr")) row.classList.toggle("here", name !== null && row.dataset.name === name);
  });
  if (held) {
    by("offline").hidden = false;
    for (const control of document.querySelectorAll("#controls :is(select, input), #claim :is(input, button)")) control.disabled = control.id !== "batch";
    by("drop").hidden = true;
  }
  listen();
  open(true);
}

begin().catch((error) => { by("error").textContent = error.message; });

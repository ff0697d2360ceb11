// The controls: what each offers, the state in them, and the state that a hand on one of them makes.
import { by, el, pick, put } from "./dom.js";
import { further, furtherFields } from "./further.js";
import { page, words } from "./page.js";

const COUNTS = ["context", "tp", "pp", "ep", "microbatches"];
const CHOSEN = ["weights", "kv", "math", "engine"];
const AT_MOST = 4;
const slots = Array.from({ length: AT_MOST }, (_, at) => `machine${at}`);

function options(select, several, empty = null) {
  const made = several.map(([value, text]) => el("option", { value }, text));
  put(select, empty === null ? null : el("option", { value: "" }, empty), ...made);
}

export function choices() {
  const { start } = page;
  const groups = (empty) => {
    const vendors = new Map();
    for (const chip of start.machines) vendors.set(chip.vendor, [...(vendors.get(chip.vendor) ?? []), chip]);
    const own = [...start.given, ...start.measured];
    const chips = [...vendors].map(([vendor, several]) => el("optgroup", { label: vendor || "?" }, ...several.map((chip) => el("option", { value: chip.id }, chip.name))));
    const first = own.length ? [el("optgroup", { label: words("measured") }, ...own.map((name) => el("option", { value: name }, name)))] : [];
    return [...(empty ? [el("option", { value: "" }, words("nothing"))] : []), ...first, ...chips];
  };
  slots.forEach((slot, at) => put(by(slot), ...groups(at > 0)));
  const named = (names) => names.map((name) => [name, name]);
  options(by("model"), named(start.models));
  options(by("weights"), named(start.weights), words("as_stored"));
  options(by("kv"), named(start.kv), words("as_stored"));
  options(by("math"), named(start.math), words("by_machine"));
  options(by("engine"), named(start.engines), words("in_general"));
  put(by("names"), ...start.machines.map((chip) => el("option", { value: chip.id })));
  by("batch").max = start.batches.length - 1;
}

// all: also where a hand is, as what stands there is of another state (back and forward in the history).
export function controls(all = false) {
  const { state, start } = page;
  const free = (name) => all || document.activeElement !== by(name);
  pick(by("model"), state.model);
  slots.forEach((slot, at) => pick(by(slot), state.machines[at]));
  if (state.machines.length > 1) by("compare").open = true;
  by("phase").value = state.phase;
  for (const name of COUNTS) if (free(name)) by(name).value = state[name];
  by("microbatches_of").hidden = !(state.pp > 1 || state.microbatches > 1);
  for (const name of CHOSEN) pick(by(name), state[name]);
  if (further(all) || ["tp", "pp", "ep"].some((name) => state[name] > 1) || CHOSEN.some((name) => state[name])) unfold(true);
  by("lang").value = state.lang;
  const at = start.batches.findLastIndex((batch) => batch <= state.batch);
  if (start.batches[by("batch").value] !== state.batch) by("batch").value = Math.max(0, at);
  by("batch").setAttribute("aria-valuetext", `${state.batch}`);
  by("batch_shown").textContent = state.batch;
  if (free("batch_exact")) by("batch_exact").value = state.batch;
}

// What no change is for: a file holds the answers to one question.
export function still() {
  for (const control of document.querySelectorAll("#controls :is(select, input), #claim :is(input, button)")) control.disabled = control.id !== "batch";
  by("drop").hidden = true;
}

export function handled(change) {
  const { start } = page;
  furtherFields(change);
  by("batch").addEventListener("input", (event) => change({ batch: start.batches[event.target.value] }, { remember: false }));
  by("batch_exact").addEventListener("change", (event) => typed(event.target, "batch", change));
  for (const name of COUNTS) by(name).addEventListener("change", (event) => typed(event.target, name, change));
  for (const name of [...CHOSEN, "phase"]) by(name).addEventListener("change", (event) => change({ [name]: event.target.value || undefined }));
  by("model").addEventListener("change", (event) => {
    const known = start.models.includes(event.target.value);
    change({ model: event.target.value, config: known ? undefined : page.state.config });
  });
  for (const slot of slots) {
    by(slot).addEventListener("change", () => change({ machines: [...new Set(slots.map((one) => by(one).value).filter(Boolean))] }));
  }
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  by("more").addEventListener("click", () => unfold(!by("controls").classList.contains("all")));
}

// Where there is little room, what is seldom changed is folded away.
function unfold(all) {
  by("controls").classList.toggle("all", all);
  by("more").setAttribute("aria-expanded", all);
}

// A number is asked as it is typed: what a field takes, the server says in a sentence. No number changes nothing.
function typed(input, name, change) {
  if (input.value === "") { input.value = page.state[name]; return; }
  const value = Number(input.value);
  const alone = name === "pp" && value === 1 ? { microbatches: 1 } : {};  // one stage has nothing to fill
  change({ [name]: value, ...alone });
}

// Options that are seldom said, as `predict` has them: what each takes, and the state that saying it makes.
import { by, el, pick, put } from "./dom.js";
import { PLAIN } from "./link.js";
import { page } from "./page.js";

const GB = 1e9;
const TAKES = { whole: { min: 1, step: 1 }, share: { min: 0, max: 1, step: "any" }, amount: { min: 0, step: "any" } };
const TOGETHER = { prompt: "output", output: "prompt" };

// Those without a control of their own, in their order.
const seldom = () => page.start.fields.filter((field) => field.further).sort((one, other) => one.further - other.further);
const unit = (name) => (name.endsWith("_bytes") ? GB : 1);

export function furtherFields(change) {
  const made = seldom().map(({ name, kind, choices }) => {
    const control = choices ? el("select", { id: name }, ...["", ...choices].map((value) => el("option", value ? { value } : { value, "data-say": "as_usual" }, value))) : el("input", { id: name, type: "number", ...TAKES[kind] });
    control.addEventListener("change", () => changed(change));
    return el("label", {}, el("span", { "data-say": name }), control);
  });
  put(by("further_fields"), ...made);
}

function changed(change) {
  const said = {};
  for (const { name } of seldom()) {
    const { value } = by(name);  // what is out of range, the server says in a sentence
    said[name] = value === "" ? PLAIN[name] : by(name).matches("select") ? value : Number((value * unit(name)).toPrecision(15));
  }
  for (const [name, other] of Object.entries(TOGETHER)) if (said[other] === undefined) said[name] = undefined;
  change(said);
}

// What is not the plain value stands in its field; a field that is written in is left alone, unless all are meant.
export function further(all = false) {
  let several = 0;
  for (const { name } of seldom()) {
    const value = page.state[name];
    const plain = value === undefined || value === PLAIN[name];
    several += plain ? 0 : 1;
    const waits = plain && TOGETHER[name] && page.state[TOGETHER[name]] === undefined && by(TOGETHER[name]).value === "";
    if (!all && (document.activeElement === by(name) || waits)) continue;
    if (by(name).matches("select")) pick(by(name), plain ? "" : value);
    else by(name).value = plain ? "" : value / unit(name);
  }
  if (several) by("further").open = true;
  return several;
}

// Options that are seldom said, as `predict` has them: what each takes, and the state that saying it makes.
import { by, el, pick, put } from "./dom.js";
import { PLAIN } from "./link.js";
import { page } from "./page.js";

const GB = 1e9;
const COUNT = { min: 1, step: 1 };
const SHARE = { min: 0, max: 1, step: "any" };
const FURTHER = [
  ["prompt", COUNT], ["output", COUNT], ["dp", COUNT], ["gpus_per_node", COUNT], ["link", ["nvlink", "pcie", "network"]], ["routing_skew", { min: 0, step: "any" }],
  ["tokens", COUNT], ["acceptance", SHARE], ["attention", ["flash", "unfused", "fused-softmax"]], ["mask", ["causal", "full"]],
  ["block_tokens", COUNT], ["batched_tokens", COUNT], ["memory_fraction", SHARE], ["runtime_bytes", { min: 0, step: "any", unit: GB }],
  ["graph_bytes", { min: 0, step: "any", unit: GB }], ["measured_tokens_per_s", { min: 0, step: "any" }],
];
const TOGETHER = { prompt: "output", output: "prompt" };

export function furtherFields(change) {
  const made = FURTHER.map(([name, takes]) => {
    const control = Array.isArray(takes) ? el("select", { id: name }, ...["", ...takes].map((value) => el("option", value ? { value } : { value, "data-say": "as_usual" }, value))) : el("input", { id: name, type: "number", ...takes });
    control.addEventListener("change", () => changed(change));
    return el("label", {}, el("span", { "data-say": name }), control);
  });
  put(by("further_fields"), ...made);
}

function changed(change) {
  const said = {};
  for (const [name, { unit = 1 }] of FURTHER) {
    const { value } = by(name);  // what is out of range, the server says in a sentence
    said[name] = value === "" ? PLAIN[name] : by(name).matches("select") ? value : Number((value * unit).toPrecision(15));
  }
  for (const [name, other] of Object.entries(TOGETHER)) if (said[other] === undefined) said[name] = undefined;
  change(said);
}

// What is not the plain value stands in its field; a field that is written in is left alone, unless all are meant.
export function further(all = false) {
  let several = 0;
  for (const [name, { unit = 1 }] of FURTHER) {
    const value = page.state[name];
    const plain = value === undefined || value === PLAIN[name];
    several += plain ? 0 : 1;
    const waits = plain && TOGETHER[name] && page.state[TOGETHER[name]] === undefined && by(TOGETHER[name]).value === "";
    if (!all && (document.activeElement === by(name) || waits)) continue;
    if (by(name).matches("select")) pick(by(name), plain ? "" : value);
    else by(name).value = plain ? "" : value / unit;
  }
  if (several) by("further").open = true;
  return several;
}

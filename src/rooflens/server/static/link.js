// A state as the fragment of an address, and back. What a link does not say is the plain value below.

export const PLAIN = {
  phase: "decode", batch: 1, context: 4096, tp: 1, pp: 1, ep: 1, microbatches: 1, dp: 1, tokens: 1, attention: "flash", mask: "causal", routing_skew: 0,
};
const WHOLE = [
  "batch", "context", "tp", "pp", "ep", "microbatches", "dp", "tokens", "prompt", "output", "gpus_per_node", "block_tokens", "batched_tokens",
];
const PARTS = ["acceptance", "routing_skew", "memory_fraction", "runtime_bytes", "graph_bytes", "measured_tokens_per_s"];
const SAID = ["phase", "weights", "kv", "math", "engine", "attention", "mask", "link", "lang", "config"];

const MOST_HIDDEN = 200;
export const ALL = { linear: false, off: [], see: null };  // how a plot is looked at where a link says nothing of it

// view: how the plot is looked at, see plot.js.
export function toLink(state, view = ALL) {
  const said = new URLSearchParams();
  said.set("model", state.model);
  for (const machine of state.machines) said.append("on", machine);
  for (const name of [...WHOLE, ...PARTS, ...SAID]) {
    if (state[name] !== undefined && state[name] !== null && state[name] !== PLAIN[name]) said.set(name, state[name]);
  }
  if (view.linear) said.set("axes", "linear");
  for (const line of view.off) said.append("off", line);
  if (view.see) said.set("see", view.see.map((at) => Number(at.toPrecision(5))).join(" "));
  return `#${said}`;
}

// The state that a link says, and whether all of it was clear; null for a link that names no model.
export function fromLink(fragment, lang) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!said.get("model") || !said.getAll("on").length) return null;
  const state = { ...PLAIN, lang, model: said.get("model"), machines: said.getAll("on") };
  const view = { ...ALL, off: said.getAll("off").slice(0, MOST_HIDDEN) };
  let whole = true;
  for (const [name, value] of said) {
    if (name === "on" || name === "off") continue;
    if (said.getAll(name).length > 1) whole = false;
    if (name === "model") continue;
    if (SAID.includes(name)) state[name] = value;
    else if (WHOLE.includes(name) && /^[1-9][0-9]{0,8}$/.test(value)) state[name] = Number(value);
    else if (PARTS.includes(name) && /^[0-9.]+(e[+-]?[0-9]+)?$/.test(value) && Number.isFinite(Number(value))) state[name] = Number(value);
    else if (name === "axes" && value === "linear") view.linear = true;
    else if (name === "see" && span(value)) view.see = span(value);
    else whole = false;
  }
  return { state, whole, view };
}

// Four numbers, from and to of both axes; null where it is none.
function span(text) {
  const found = text.split(" ").map(Number);
  return found.length === 4 && found.every(Number.isFinite) && found[0] < found[1] && found[2] < found[3] ? found : null;
}

// A state as the fragment of an address, and back. What a link does not say is the plain value below.

export const PLAIN = {
  phase: "decode", batch: 1, context: 4096, tp: 1, pp: 1, ep: 1, microbatches: 1, dp: 1, tokens: 1, attention: "flash", mask: "causal", routing_skew: 0,
};
const WHOLE = [
  "batch", "context", "tp", "pp", "ep", "microbatches", "dp", "tokens", "prompt", "output", "gpus_per_node", "block_tokens", "batched_tokens",
];
const PARTS = ["acceptance", "routing_skew", "memory_fraction", "runtime_bytes", "graph_bytes", "measured_tokens_per_s"];
const SAID = ["phase", "weights", "kv", "math", "engine", "attention", "mask", "link", "lang", "config"];

export function toLink(state) {
  const said = new URLSearchParams();
  said.set("model", state.model);
  for (const machine of state.machines) said.append("on", machine);
  for (const name of [...WHOLE, ...PARTS, ...SAID]) {
    if (state[name] !== undefined && state[name] !== null && state[name] !== PLAIN[name]) said.set(name, state[name]);
  }
  return `#${said}`;
}

// The state that a link says, and whether all of it was clear; null for a link that names no model.
export function fromLink(fragment, lang) {
  const said = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!said.get("model") || !said.getAll("on").length) return null;
  const state = { ...PLAIN, lang, model: said.get("model"), machines: said.getAll("on") };
  let whole = true;
  for (const [name, value] of said) {
    if (name === "model" || name === "on") continue;
    if (SAID.includes(name)) state[name] = value;
    else if (WHOLE.includes(name) && /^[1-9][0-9]{0,8}$/.test(value)) state[name] = Number(value);
    else if (PARTS.includes(name) && /^[0-9.]+(e[+-]?[0-9]+)?$/.test(value) && Number.isFinite(Number(value))) state[name] = Number(value);
    else whole = false;
  }
  return { state, whole };
}

// A state as the fragment of an address, and back. What a link does not say is the plain value of its field.

export const PLAIN = {};  // of each field that has one
const written = { whole: [], number: [], text: [] };  // names of fields, by how a link writes them

// The fields of a state that are options of `predict`, as the server says them.
export function learn(fields) {
  const named = (...kinds) => fields.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  Object.assign(written, { whole: named("whole"), number: named("share", "amount"), text: [...named("text"), "lang", "config"] });
  for (const { name, plain } of fields) if (plain !== undefined) PLAIN[name] = plain;
}

const MOST_HIDDEN = 200;
export const ALL = { linear: false, off: [], see: null };  // how a plot is looked at where a link says nothing of it

// view: how the plot is looked at, see plot.js.
export function toLink(state, view = ALL) {
  const said = new URLSearchParams();
  said.set("model", state.model);
  for (const machine of state.machines) said.append("on", machine);
  for (const name of Object.values(written).flat()) {
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
    if (written.text.includes(name)) state[name] = value;
    else if (written.whole.includes(name) && /^[1-9][0-9]{0,8}$/.test(value)) state[name] = Number(value);
    else if (written.number.includes(name) && /^[0-9.]+(e[+-]?[0-9]+)?$/.test(value) && Number.isFinite(Number(value))) state[name] = Number(value);
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

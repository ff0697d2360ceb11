// Elements by id, and elements made with their attributes and children. Text is only ever set as text.

const SVG = "http://www.w3.org/2000/svg";

export const by = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// A value that no list offers is added to it.
export function pick(select, value) {
  if (value && ![...select.options].some((option) => option.value === value)) select.append(el("option", { value }, value));
  select.value = value ?? "";
}

export function put(home, ...children) {
  home.replaceChildren(...children.filter((child) => child !== null));
}

// Heads and rows of text as a table. second: makes the cell behind the name of a row; under: a line below the name.
export function table(heads, rows, { second = null, under = null, marked = null } = {}) {
  const body = rows.map((cells, at) => {
    const [name, ...rest] = cells;
    const head = el("th", { scope: "row" }, name, under && under(at) ? el("small", {}, under(at)) : null);
    const row = el("tr", marked ? { "data-name": marked(at) } : {}, head, second ? el("td", {}, second(at)) : null);
    row.append(...rest.map((cell) => el("td", {}, cell)));
    return row;
  });
  const titles = heads.map((head) => el("th", { scope: "col" }, head));
  return el("table", {}, el("thead", {}, el("tr", {}, ...titles)), el("tbody", {}, ...body));
}

export function pairs(several) {
  return several.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

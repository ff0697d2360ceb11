// What is kept of an answer: the plot as SVG or PNG, its operators as CSV, all of it as JSON.
import { el } from "./dom.js";

const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-family", "font-size", "paint-order", "stroke-linejoin", "transform"];
const COLUMNS = ["name", "count", "flops", "vector_flops", "weight_bytes", "kv_bytes", "activation_bytes", "link_bytes", "math", "intensity_flops_per_byte", "bound", "attainable_flops_per_s", "share_of_peak", "floor_s"];

export function save(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// The picture as it is seen, with its colours in it: it stands alone.
export function picture(root, title) {
  const copy = root.cloneNode(true);
  const [, , width, height] = root.getAttribute("viewBox").split(" ").map(Number);
  const theirs = [...copy.querySelectorAll("*")];
  [...root.querySelectorAll("*")].forEach((node, at) => {
    const look = getComputedStyle(node);
    for (const name of KEPT) {
      const value = look.getPropertyValue(name);
      if (name === "transform" && node.style.transform) theirs[at].setAttribute("transform", node.style.transform.replaceAll("px", ""));
      else if (value && value !== "none" && name !== "transform") theirs[at].setAttribute(name, value);
    }
    if (look.fill === "none") theirs[at].setAttribute("fill", "none");
    for (const name of ["style", "tabindex", "class"]) theirs[at].removeAttribute(name);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height + 28);
  copy.setAttribute("viewBox", `0 -28 ${width} ${height + 28}`);
  copy.removeAttribute("tabindex");
  const paper = getComputedStyle(document.body).getPropertyValue("--card");
  const ink = getComputedStyle(document.body).getPropertyValue("--ink");
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x: 0, y: -28, width, height: height + 28, fill: paper })) back.setAttribute(name, value);
  const head = document.createElementNS("http://www.w3.org/2000/svg", "text");
  for (const [name, value] of Object.entries({ x: 12, y: -9, fill: ink, "font-family": "sans-serif", "font-size": 14, "font-weight": "bold" })) head.setAttribute(name, value);
  head.textContent = title;
  copy.prepend(back, head);
  return { text: new XMLSerializer().serializeToString(copy), width, height: height + 28 };
}

export async function png(root, title) {
  const { text, width, height } = picture(root, title);
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    await new Promise((done, failed) => { image.onload = done; image.onerror = failed; image.src = url; });
    const canvas = el("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    return await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  } finally {
    URL.revokeObjectURL(url);
  }
}

export function csv(place) {
  const cell = (value) => {
    const text = value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = place.operators.map((operator) => COLUMNS.map((name) => cell(operator[name])).join(","));
  return `${[COLUMNS.join(","), ...rows].join("\n")}\n`;
}

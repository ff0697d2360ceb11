// What a point or a line says beside it, and how pointers and keys come to the links in it.
import { el } from "./dom.js";

const STAYS_MS = 250;  // a hint waits so long for the pointer to come to its links
const APART = 16;

export class Hint {
  // left: called when nothing is pointed at any more.
  constructor(home, left) {
    Object.assign(this, { home, left });
    this.tip = el("div", { class: "tip", hidden: "" });
    this.tip.addEventListener("pointerenter", () => clearTimeout(this.leaving));
    this.tip.addEventListener("pointerleave", () => this.leave());
    this.tip.addEventListener("focusout", (event) => { if (!this.holds(event.relatedTarget)) left(); });
  }

  holds(node) {
    return node !== null && this.tip.contains(node);
  }

  // A pointer that leaves a point may be on its way to the links of the hint.
  leave() {
    clearTimeout(this.leaving);
    this.leaving = setTimeout(() => { if (!this.holds(document.activeElement)) this.left(); }, STAYS_MS);
  }

  hide() {
    clearTimeout(this.leaving);
    this.tip.hidden = true;
  }

  enter() {
    this.tip.querySelector("a")?.focus();
  }

  // Beside (x, y) where there is room, else at the far end of the plot: it lies over nothing that is beside the plot.
  show([x, y], label, title, row = [], sources = {}) {
    clearTimeout(this.leaving);
    const pairs = row.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, ...sourced(value, sources))]);
    this.tip.replaceChildren(el("strong", {}, label), el("div", {}, title), el("dl", {}, ...pairs));
    this.tip.hidden = false;
    const { width, height } = this.home.getBoundingClientRect();
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const level = Math.max(0, Math.min(y - h / 2, height - h));
    const across = Math.max(0, Math.min(x - w / 2, width - w));
    const free = [[x + APART, level], [x - w - APART, level], [across, y - h - APART], [across, y + APART]];
    const [left, top] = free.find(([l, t]) => l >= 0 && t >= 0 && l + w <= width && t + h <= height) ?? [across, y < height / 2 ? Math.max(0, height - h) : 0];
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }
}

// A text with the ids of sources in it as links by their titles; as it came where nothing is known of an id.
function sourced(text, sources) {
  const ids = Object.keys(sources).map((id) => id.replace(/[^\w]/g, "\\$&"));
  if (!ids.length) return [text];
  return text.split(new RegExp(`(?<![\\w-])(${ids.join("|")})(?![\\w-])`)).map((part) => {
    const { title, url } = Object.hasOwn(sources, part) ? sources[part] : { title: part };
    return url ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, title) : title;
  });
}

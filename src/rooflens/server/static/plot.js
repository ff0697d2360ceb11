// The roofline: lines by their ends and points where they are, on log or linear axes. Nothing is computed but pixels.
import { el, svg } from "./dom.js";
import { around, crossing, joined, set, ticks } from "./scale.js";

const MARGIN = { top: 14, right: 14, bottom: 44, left: 74 };
export const MARKS = [
  "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", "M-5.5,-5.5h11v11h-11z", "M0,-7L6.6,5H-6.6z", "M0,-7.5L7.5,0L0,7.5L-7.5,0z",
];
const CROSS = "M-5,-5L5,5M5,-5L-5,5";

export class Plot {
  constructor(home, words, pointed) {
    Object.assign(this, { home, words, pointed, linear: false, off: new Set(), foreign: [], held: null });
    this.root = svg("svg", { role: "group", tabindex: "0" });
    this.tip = el("div", { class: "tip", hidden: "" });
    home.replaceChildren(this.root, this.tip);
    this.spots = new Map();
    this._layers();
    this._listen();
    new ResizeObserver(() => this.draw()).observe(home);
  }

  // A new answer. `fresh`: what is compared has changed, so everything is to be seen again.
  show(plot, fresh) {
    this.held = plot;
    const wanted = { x: plot.x, y: plot.y };
    if (fresh || !this.whole) this.whole = wanted;
    else this.whole = { x: joined(this.whole.x, wanted.x), y: joined(this.whole.y, wanted.y) };
    if (fresh || !this.zoomed) this.fit();
    this.draw();
  }

  fit() {
    this.zoomed = false;
    if (!this.whole) return;
    const { x, y } = this.whole;
    this.x = this.linear ? [0, x[1] / 3] : x.map(Math.log10);
    this.y = this.linear ? [0, y[1] / 4] : y.map(Math.log10);
  }

  setLinear(linear) {
    this.linear = linear;
    this.fit();
    this.draw();
  }

  toggle(label, on) {
    if (on) this.off.delete(label);
    else this.off.add(label);
    this.draw();
  }

  zoom(factor, at = [0.5, 0.5]) {
    this.zoomed = true;
    this.x = around(this.x, factor, at[0]);
    this.y = around(this.y, factor, 1 - at[1]);
    this.draw();
  }

  pan(dx, dy) {
    this.zoomed = true;
    const [w, h] = [this.x[1] - this.x[0], this.y[1] - this.y[0]];
    this.x = this.x.map((v) => v - dx * w);
    this.y = this.y.map((v) => v + dy * h);
    this.draw();
  }

  draw() {
    const { width, height } = this.home.getBoundingClientRect();
    if (!this.held || !this.x || width < 50) return;
    this.box = { left: MARGIN.left, top: MARGIN.top, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("aria-label", `${this.held.title}. ${this.words("plot_help")}`);
    const { left: l, top, right, bottom } = this.box;
    set(this.cut.firstChild, { x: l, y: top, width: right - l, height: bottom - top });
    this._axes();
    this._lines();
    this._points();
  }

  px(x) {
    return this.box.left + ((this._t(x) - this.x[0]) / (this.x[1] - this.x[0])) * (this.box.right - this.box.left);
  }

  py(y) {
    return this.box.bottom - ((this._t(y) - this.y[0]) / (this.y[1] - this.y[0])) * (this.box.bottom - this.box.top);
  }

  _t(value) {
    return this.linear ? value : Math.log10(value);
  }

  _layers() {
    this.cut = svg("clipPath", { id: "inside" }, svg("rect"));
    this.axes = svg("g", { "aria-hidden": "true" });
    this.lines = svg("g", { "clip-path": "url(#inside)", "aria-hidden": "true" });
    this.points = svg("g", { "clip-path": "url(#inside)" });
    this.names = svg("g", { "clip-path": "url(#inside)", "aria-hidden": "true" });
    this.root.append(svg("defs", {}, this.cut), this.axes, this.lines, this.names, this.points);
  }

  _axes() {
    const { left, top, right, bottom } = this.box;
    const made = [];
    for (const [v, label] of ticks(this.x, this.linear, this.words.decades.x, (right - left) / 62)) {
      const at = left + ((v - this.x[0]) / (this.x[1] - this.x[0])) * (right - left);
      made.push(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
      made.push(svg("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": "middle" }, label));
    }
    for (const [v, label] of ticks(this.y, this.linear, this.words.decades.y, (bottom - top) / 34)) {
      const at = bottom - ((v - this.y[0]) / (this.y[1] - this.y[0])) * (bottom - top);
      made.push(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      made.push(svg("text", { class: "tick", x: left - 6, y: at + 4, "text-anchor": "end" }, label));
    }
    made.push(svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }));
    const middle = (left + right) / 2;
    made.push(svg("text", { class: "tick", x: middle, y: bottom + 36, "text-anchor": "middle" }, this.words("axis_x")));
    const up = `translate(${left + 14} ${top + 8}) rotate(-90)`;
    made.push(svg("text", { class: "tick halo", transform: up, "text-anchor": "end" }, this.words("axis_y")));
    this.axes.replaceChildren(...made);
  }

  _lines() {
    const taken = [];
    const [made, names] = [[], []];
    for (const line of [...this.held.slopes, ...this.held.roofs]) {
      if (this.off.has(line.label)) continue;
      const [[x1, y1], [x2, y2]] = line.ends;
      const ends = this._inside([this.px(x1), this.py(y1), this.px(x2), this.py(y2)]);
      if (!ends) continue;
      const kind = `roof m${line.machine}${line.solid ? "" : " dashed"}${line.weight !== undefined && line.weight < 2 ? " thin" : ""}`;
      made.push(svg("line", { class: kind, x1: ends[0], y1: ends[1], x2: ends[2], y2: ends[3] }));
      names.push(this._lineName(line, ends, taken));
    }
    this.taken = taken;
    this.lines.replaceChildren(...made, ...names.filter(Boolean));
  }

  _lineName(line, [x1, y1, x2, y2], taken) {
    const long = Math.hypot(x2 - x1, y2 - y1);
    const wide = line.label.length * 6.1;
    const flat = line.weight === undefined;
    if (flat ? wide > this.box.right - this.box.left : long < wide * 0.7) return null;
    const angle = flat ? 0 : (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    if (flat) {
      const x = this.box.right - 6;
      const box = [x - wide, y1 - 18, x, y1 - 2];
      if (taken.some((other) => crossing(box, other))) return null;
      taken.push(box);
      return svg("text", { class: `halo f${line.machine}`, x, y: y1 - 5, "text-anchor": "end" }, line.label);
    }
    const share = Math.min(0.5, 30 / long);
    const [x, y] = [x1 + (x2 - x1) * share, y1 + (y2 - y1) * share];
    const key = [x - 7, y - 7, x + 7, y + 7];
    if (taken.some((other) => crossing(key, other))) return null;
    taken.push(key);
    return svg("text", { class: `halo f${line.machine}`, transform: `translate(${x} ${y}) rotate(${angle}) translate(0 -6)` }, line.label);
  }

  // A line cut at the frame, so that its name stands where it is seen; null when it is all outside.
  _inside([x1, y1, x2, y2]) {
    const { left, top, right, bottom } = this.box;
    let [from, to] = [0, 1];
    for (const [p, q] of [[x1 - x2, x1 - left], [x2 - x1, right - x1], [y1 - y2, y1 - top], [y2 - y1, bottom - y1]]) {
      if (p === 0) { if (q < 0) return null; continue; }
      if (p < 0) from = Math.max(from, q / p);
      else to = Math.min(to, q / p);
    }
    if (from >= to) return null;
    const [dx, dy] = [x2 - x1, y2 - y1];
    return [x1 + from * dx, y1 + from * dy, x1 + to * dx, y1 + to * dy];
  }

  _points() {
    const seen = new Set();
    const named = [];
    for (const spot of [...this.held.spots, ...this.foreign]) {
      const key = `${spot.machine ?? "file"} ${spot.name} ${spot.at ?? 0}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const mark = this.spots.get(key) ?? this._mark(key, spot);
      mark.spot = spot;
      const [x, y] = [this.px(spot.x), this.py(spot.y)];
      mark.style.transform = `translate(${x}px, ${y}px)`;
      mark.setAttribute("aria-label", said(spot, this.held.machines));
      const cap = mark.querySelector(".cap");
      cap.toggleAttribute("hidden", !spot.cap);
      if (spot.cap) set(cap, { y1: this.py(spot.cap) - y, y2: this.py(spot.cap) - y });
      if (spot.machine !== undefined) named.push(this._name(spot, x, y));
    }
    for (const [key, mark] of this.spots) {
      if (!seen.has(key)) { mark.remove(); this.spots.delete(key); }
    }
    this.names.replaceChildren(...named.filter(Boolean));
  }

  _mark(key, spot) {
    const foreign = spot.machine === undefined;
    const mark = svg(
      "g", { class: `spot${foreign ? " foreign" : ""}`, tabindex: "0", role: "img" },
      svg("circle", { class: "ring", r: 10 }),
      svg("path", { class: `mark${foreign ? "" : ` f${spot.machine}`}`, d: foreign ? CROSS : MARKS[spot.machine % 4] }),
      svg("line", { class: "cap", x1: -9, x2: 9 }),
    );
    for (const name of ["pointerenter", "focus"]) mark.addEventListener(name, () => this.point(mark));
    for (const name of ["pointerleave", "blur"]) mark.addEventListener(name, () => this.point(null));
    this.points.append(mark);
    this.spots.set(key, mark);
    return mark;
  }

  _name(spot, x, y) {
    const wide = spot.name.length * 6.4;
    const tries = [[10, 4, "start"], [-10, 4, "end"], [0, -11, "middle"], [0, 20, "middle"]];
    for (const [dx, dy, anchor] of tries) {
      const from = anchor === "start" ? x + dx : anchor === "end" ? x + dx - wide : x - wide / 2;
      const box = [from, y + dy - 11, from + wide, y + dy + 3];
      if (box[0] < this.box.left || box[2] > this.box.right || this.taken.some((other) => crossing(box, other))) continue;
      this.taken.push(box, [x - 6, y - 6, x + 6, y + 6]);
      return svg("text", { class: "halo", x: x + dx, y: y + dy, "text-anchor": anchor }, spot.name);
    }
    return null;
  }

  point(mark) {
    for (const other of this.spots.values()) other.classList.toggle("here", other === mark);
    this.pointed(mark && mark.spot.machine === 0 ? mark.spot.name : null);
    this.tip.hidden = !mark;
    if (!mark) return;
    const { spot } = mark;
    const rows = (spot.row ?? []).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
    const machine = spot.machine === undefined ? "" : this.held.machines[spot.machine].title;
    this.tip.replaceChildren(el("strong", {}, spot.label), el("div", {}, machine), el("dl", {}, ...rows));
    const { width, height } = this.home.getBoundingClientRect();
    const [x, y] = [this.px(spot.x), this.py(spot.y)];
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const level = Math.max(0, Math.min(y - h / 2, height - h));
    const across = Math.max(0, Math.min(x - w / 2, width - w));
    const free = [[x + 16, level], [x - w - 16, level], [across, y - h - 16], [across, y + 16]];
    const [left, top] = free.find(([l, t]) => l >= 0 && t >= 0 && l + w <= width && t + h <= height) ?? [across, y + 16];
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }

  _listen() {
    let from = null;
    this.root.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".spot") || event.pointerType === "touch" && !event.isPrimary) return;
      from = [event.clientX, event.clientY];
      this.root.setPointerCapture(event.pointerId);
      this.home.classList.add("still");
    });
    this.root.addEventListener("pointermove", (event) => {
      if (!from) return;
      const { left, top, right, bottom } = this.box;
      this.pan((event.clientX - from[0]) / (right - left), (event.clientY - from[1]) / (bottom - top));
      from = [event.clientX, event.clientY];
    });
    for (const name of ["pointerup", "pointercancel"]) {
      this.root.addEventListener(name, () => { from = null; this.home.classList.remove("still"); });
    }
    this.root.addEventListener("wheel", (event) => {
      if (!this.box) return;
      event.preventDefault();
      const { left: l, top: t } = this.home.getBoundingClientRect();
      const { left, top, right, bottom } = this.box;
      const at = [(event.clientX - l - left) / (right - left), (event.clientY - t - top) / (bottom - top)];
      this.zoom(event.deltaY > 0 ? 1.18 : 1 / 1.18, at);
    }, { passive: false });
    this.root.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: [0.08, 0], ArrowRight: [-0.08, 0], ArrowUp: [0, 0.08], ArrowDown: [0, -0.08] };
      if (moves[event.key]) this.pan(...moves[event.key]);
      else if (event.key === "+" || event.key === "=") this.zoom(1 / 1.25);
      else if (event.key === "-") this.zoom(1.25);
      else if (event.key === "0") { this.fit(); this.draw(); }
      else if (event.key === "Escape") this.point(null);
      else return;
      event.preventDefault();
    });
  }
}

function said(spot, machines) {
  const rows = (spot.row ?? []).map(([name, value]) => `${name} ${value}`).join(", ");
  return `${spot.label}${spot.machine === undefined ? "" : `, ${machines[spot.machine].title}`}${rows ? `, ${rows}` : ""}`;
}

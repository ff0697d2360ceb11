// The roofline: lines by their ends and points where they are, on log or linear axes. Nothing is computed but pixels.
import { svg } from "./dom.js";
import { Hint } from "./hint.js";
import { Names } from "./names.js";
import { around, joined, sees, set, ticks, within } from "./scale.js";

const MARGIN = { top: 22, right: 12, bottom: 40, left: 77 };  // at letters of 12 pixels
export const MARKS = [
  "M-6,0a6,6 0 1,0 12,0a6,6 0 1,0 -12,0", "M-5.5,-5.5h11v11h-11z", "M0,-7L6.6,5H-6.6z", "M0,-7.5L7.5,0L0,7.5L-7.5,0z",
];
const CROSS = "M-5,-5L5,5M5,-5L-5,5";

export class Plot {
  // pointed: told of the point that is pointed at; moved: told that the plot is looked at otherwise.
  constructor(home, words, pointed, moved) {
    Object.assign(this, { home, words, pointed, moved, linear: false, off: new Set(), foreign: [], held: null });
    this.root = svg("svg", { role: "group", tabindex: "0" });
    this.hint = new Hint(home, () => this.point(null));
    home.replaceChildren(this.root, this.hint.tip);
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
    const seen = this.wanted && this._see(this.wanted);
    if (!seen && (fresh || !this.zoomed)) this.fit();
    this.wanted = null;
    this.draw();
  }

  // How it is looked at: axes, hidden lines, and what is seen of it where that is not all.
  get view() {
    const see = this.wanted ?? (this.zoomed ? [...this.x, ...this.y] : null);
    return { linear: this.linear, off: [...this.off], see };
  }

  // As a link says it. What is seen waits for the answer that is drawn.
  look({ linear, off, see }) {
    this.linear = linear;
    this.off = new Set(off);
    this.fit();
    this.wanted = see;
    this.draw();
  }

  // What is too far, too small or too large to be seen is not looked at.
  _see([left, right, bottom, top]) {
    const { x, y } = this._all();
    if (!sees([left, right], x) || !sees([bottom, top], y)) return false;
    this.zoomed = true;
    this.x = [left, right];
    this.y = [bottom, top];
    return true;
  }

  // Everything, on the axes that are drawn.
  _all() {
    const { x, y } = this.whole;
    return this.linear ? { x: [0, x[1] / 3], y: [0, y[1] / 4] } : { x: x.map(Math.log10), y: y.map(Math.log10) };
  }

  // All of it; a hand that wants that says so with `told`.
  fit(told = false) {
    if (this.zoomed || told) this.moved();
    this.zoomed = false;
    if (this.whole) Object.assign(this, this._all());
  }

  setLinear(linear) {
    this.linear = linear;
    this.fit(true);
    this.draw();
  }

  toggle(line, on) {
    if (on) this.off.delete(lineKey(line));
    else this.off.add(lineKey(line));
    this.moved();
    this.draw();
  }

  shows(line) {
    return !this.off.has(lineKey(line));
  }

  zoom(factor, at = [0.5, 0.5]) {
    if (!this.x) return;  // no answer yet
    this._look(around(this.x, factor, at[0]), around(this.y, factor, 1 - at[1]));
  }

  pan(dx, dy) {
    if (!this.x) return;
    const [w, h] = [this.x[1] - this.x[0], this.y[1] - this.y[0]];
    this._look(this.x.map((v) => v - dx * w), this.y.map((v) => v + dy * h));
  }

  _look(x, y) {
    if (!this._see([...x, ...y])) return;
    this.moved();
    this.draw();
  }

  draw() {
    const { width, height } = this.home.getBoundingClientRect();
    if (!this.held || !this.x || width < 50) return;
    const look = getComputedStyle(this.home);
    this.size = 0.8 * parseFloat(getComputedStyle(document.documentElement).fontSize);
    this.family = look.fontFamily;
    const k = this.size / 12;
    this.box = { left: k * MARGIN.left, top: k * MARGIN.top, right: width - MARGIN.right, bottom: height - k * MARGIN.bottom };
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.setAttribute("aria-label", `${this.held.title}. ${this.words("plot_help")}`);
    const { left: l, top, right, bottom } = this.box;
    set(this.cut.firstChild, { x: l, y: top, width: right - l, height: bottom - top });
    this._axes();
    const named = new Names([l, top, right, bottom], this.size, this.family, this.held.machines.length > 1 ? MARKS : []);
    const lines = this._lines(named);
    this._points(named, lines);
    this.names.replaceChildren(...named.made);
    this.home.dataset.named = `${lines.length - named.without}/${lines.length}`;
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
    const em = this.size;
    for (const [v, label] of ticks(this.x, this.linear, this.words.decades.x, (right - left) / (5.2 * em))) {
      const at = left + ((v - this.x[0]) / (this.x[1] - this.x[0])) * (right - left);
      made.push(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
      made.push(svg("text", { class: "tick", x: at, y: bottom + 1.3 * em, "text-anchor": "middle" }, label));
    }
    for (const [v, label] of ticks(this.y, this.linear, this.words.decades.y, (bottom - top) / (2.8 * em))) {
      const at = bottom - ((v - this.y[0]) / (this.y[1] - this.y[0])) * (bottom - top);
      made.push(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }));
      made.push(svg("text", { class: "tick", x: left - 0.5 * em, y: at + 0.33 * em, "text-anchor": "end" }, label));
    }
    made.push(svg("rect", { class: "frame", x: left, y: top, width: right - left, height: bottom - top }));
    const middle = (left + right) / 2;
    made.push(svg("text", { class: "tick", x: middle, y: bottom + 2.9 * em, "text-anchor": "middle" }, this.words("axis_x")));
    made.push(svg("text", { class: "tick", x: 2, y: top - 0.7 * em }, this.words("axis_y")));
    this.axes.replaceChildren(...made);
  }

  // Lines where they are seen, and where each can be pointed at; their names come in the order of `_points`.
  _lines(named) {
    const [drawn, reach] = [[], []];
    const { left, top, right, bottom } = this.box;
    for (const line of [...this.held.slopes, ...this.held.roofs].filter((one) => this.shows(one))) {
      const [[x1, y1], [x2, y2]] = line.ends;
      const ends = within([this.px(x1), this.py(y1), this.px(x2), this.py(y2)], [left, top, right, bottom]);
      if (!ends) continue;
      const at = { x1: ends[0], y1: ends[1], x2: ends[2], y2: ends[3] };
      const kind = `roof m${line.machine}${line.solid ? "" : " dashed"}${line.weight !== undefined && line.weight < 2 ? " thin" : ""}`;
      drawn.push({ line, ends, node: svg("line", { class: kind, ...at }) });
      const hit = svg("line", { class: "hit", ...at });
      hit.addEventListener("pointerenter", (event) => this.hint.show(this._at(event), line.label, this._title(line)));
      hit.addEventListener("pointerleave", () => this.hint.hide());
      reach.push(hit);
      named.lines.push(ends);
    }
    this.lines.replaceChildren(...drawn.map((one) => one.node), ...reach);
    return drawn;
  }

  _at(event) {
    const { left, top } = this.home.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  // Points where they are. Names: of main memory, of roofs that points are under, of points, then of what is left.
  _points(named, lines) {
    const seen = new Set();
    const points = [];
    for (const spot of [...this.held.spots, ...this.foreign]) {
      const key = `${spot.machine ?? "file"} ${spot.name} ${spot.at ?? 0}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const mark = this.spots.get(key) ?? this._mark(key, spot);
      const [x, y] = [this.px(spot.x), this.py(spot.y)];
      this._move(mark, spot, x, y);
      named.keepOff([x - 6, y - 6, x + 6, y + 6]);
      if (spot.machine !== undefined) points.push({ x, y, name: spot.name, machine: spot.machine });
    }
    for (const [key, mark] of this.spots) {
      if (!seen.has(key)) { mark.remove(); this.spots.delete(key); }
    }
    const used = new Set(this.held.spots.map((spot) => spot.dtype));
    const first = ({ line }) => line.weight === 2 || line.dtypes?.some((dtype) => used.has(dtype));
    for (const { line, ends } of lines.filter(first)) named.line(line, ends);
    named.points(points);
    for (const { line, ends } of lines.filter((one) => !first(one))) named.line(line, ends);
  }

  _move(mark, spot, x, y) {
    mark.spot = spot;
    mark.style.transform = `translate(${x}px, ${y}px)`;
    mark.setAttribute("aria-label", said(spot, this.held.machines));
    const cap = mark.querySelector(".cap");
    cap.toggleAttribute("hidden", !spot.cap);
    if (spot.cap) set(cap, { y1: this.py(spot.cap) - y, y2: this.py(spot.cap) - y });
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
    mark.addEventListener("pointerleave", () => this.hint.leave());
    mark.addEventListener("blur", (event) => { if (!this.hint.holds(event.relatedTarget)) this.point(null); });
    this.points.append(mark);
    this.spots.set(key, mark);
    return mark;
  }

  point(mark) {
    this.pointing = mark;
    for (const other of this.spots.values()) other.classList.toggle("here", other === mark);
    this.pointed(mark && mark.spot.machine === 0 ? mark.spot.name : null);
    if (!mark) { this.hint.hide(); return; }
    const { spot } = mark;
    this.hint.show([this.px(spot.x), this.py(spot.y)], spot.label, this._title(spot), spot.row, this.held.sources);
  }

  _title({ machine }) {
    return machine === undefined ? "" : this.held.machines[machine].title;
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
      else if (event.key === "0") { this.fit(true); this.draw(); }
      else if (event.key === "Escape") this.point(null);
      else if (event.key === "Enter" && this.pointing) this.hint.enter();
      else return;
      event.preventDefault();
    });
    this.hint.tip.addEventListener("keydown", (event) => { if (event.key === "Escape") this.pointing?.focus(); });
  }
}

// The same in every language.
function lineKey({ machine, level, dtypes, style }) {
  return `${machine}.${style}.${level ?? dtypes.join("+")}`;
}

function said(spot, machines) {
  const rows = (spot.row ?? []).map(([name, value]) => `${name} ${value}`).join(", ");
  return `${spot.label}${spot.machine === undefined ? "" : `, ${machines[spot.machine].title}`}${rows ? `, ${rows}` : ""}`;
}

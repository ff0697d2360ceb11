// Where names stand in the plot: beside their lines and points, and over no other name, point or line. What finds no
// place has none here: the list below the plot names every line, and a point is named when it is pointed at.
import { svg } from "./dom.js";
import { crossing, within } from "./scale.js";

const GAP = 4;
const ALONG = [0.04, 0.2, 0.4, 0.6, 0.12, 0.3, 0.5, 0.7];
const MOST = 24;
const pen = document.createElement("canvas").getContext("2d");

export class Names {
  // frame: [left, top, right, bottom]; size: of a letter, in pixels; marks: the shapes of machines, where there are several.
  constructor(frame, size, family, marks) {
    Object.assign(this, { frame, size, marks, taken: [], lines: [], made: [], without: 0 });
    this.family = family;
  }

  wide(text, marked = false) {
    pen.font = `${this.size}px ${this.family}`;
    return pen.measureText(text).width + (marked ? 1.2 * this.size : 0);
  }

  keepOff(box) {
    this.taken.push(box);
  }

  // own: the line that is named, which may lie beside its name. over: which other lines may be crossed.
  free(boxes, own = null, over = () => false) {
    const [left, top, right, bottom] = this.frame;
    return boxes.every((box) => box[0] >= left && box[1] >= top && box[2] <= right && box[3] <= bottom
      && !this.taken.some((other) => crossing(box, other))
      && !this.lines.some((line) => line !== own && !over(line) && within(line, box)));
  }

  line(line, ends) {
    const marked = this.marks.length > 1;
    const another = (other) => level(other) !== level(ends);  // crossed at once: a name is read across it
    const rate = line.label.split(" ").slice(-2).join(" ");
    for (const text of new Set([line.label, short(line.label), ...level(ends) ? [] : [rate]])) {
      const wide = this.wide(text, marked);
      const spots = level(ends) ? this._flat(ends, wide) : this._steep(ends, wide);
      const found = spots.find((spot) => this.free(spot.boxes, ends)) ?? spots.find((spot) => this.free(spot.boxes, ends, another));
      if (!found) continue;
      this.taken.push(...found.boxes);
      this.made.push(this._written(text, line.machine, marked, found));
      return;
    }
    this.without += 1;
  }

  // Over and under a flat line: at its right end, at its left end, in its middle.
  _flat([x1, y, x2], wide) {
    const [over, under] = [y - GAP, y + GAP + 0.8 * this.size];
    const starts = [x2 - GAP - wide, x1 + 2 * GAP, (x1 + x2 - wide) / 2];
    return starts.flatMap((x) => [over, under].map((base) => ({ x, y: base, angle: 0, boxes: [[x, base - 0.85 * this.size, x + wide, base + 0.2 * this.size]] })));
  }

  // Along a slope, over and under it. Its room is a row of small boxes, as a box is never aslant.
  _steep([x1, y1, x2, y2], wide) {
    const long = Math.hypot(x2 - x1, y2 - y1);
    const [ux, uy] = [(x2 - x1) / long, (y2 - y1) / long];
    const half = this.size / 2;
    const spots = [];
    for (const share of ALONG) {
      const from = share * long + GAP;
      if (from + wide > long) continue;
      for (const side of [half + GAP, -half - GAP]) {
        const [x, y] = [x1 + from * ux + side * uy, y1 + from * uy - side * ux];
        const count = Math.ceil(wide / this.size);
        const boxes = Array.from({ length: count + 1 }, (_, at) => {
          const [cx, cy] = [x + (at / count) * wide * ux, y + (at / count) * wide * uy];
          return [cx - 0.45 * this.size, cy - 0.45 * this.size, cx + 0.45 * this.size, cy + 0.45 * this.size];
        });
        const low = 0.35 * this.size;
        spots.push({ x: x - low * uy, y: y + low * ux, angle: (Math.atan2(uy, ux) * 180) / Math.PI, boxes });
      }
    }
    return spots;
  }

  _written(text, machine, marked, { x, y, angle }) {
    const words = svg("text", { class: `halo f${machine}`, x: marked ? 1.2 * this.size : 0 }, text);
    const size = this.size / 20;
    const mark = marked ? svg("path", { class: `f${machine}`, d: this.marks[machine], transform: `translate(${0.5 * this.size} ${-0.35 * this.size}) rotate(${-angle}) scale(${size})` }) : null;
    return svg("g", { class: "name", transform: `translate(${x} ${y}) rotate(${angle})` }, mark, words);
  }

  // Points of one machine that lie on one another share a name; the same of another machine need it no second time.
  points(several) {
    const groups = [];
    for (const point of several) {
      const home = groups.find(([first]) => first.machine === point.machine && Math.hypot(first.x - point.x, first.y - point.y) < this.size / 2);
      if (home) home.push(point);
      else groups.push([point]);
    }
    const said = new Set();
    for (const over of [false, true]) {
      for (const group of groups) {
        const text = listed(group.map((point) => point.name));
        if (!said.has(text) && this._point(group, text, over)) said.add(text);
      }
    }
  }

  _point([{ x, y, name }], full, over) {
    for (const text of new Set([full, name])) {
      const wide = this.wide(text);
      const [side, low, up] = [0.85 * this.size, 0.33 * this.size, 0.9 * this.size];
      const places = [[side, low], [-side - wide, low], [side / 2, up + low * 2], [-wide - side / 2, -up], [-wide / 2, -up], [-wide / 2, up + low * 2]];
      for (const [dx, dy] of places) {
        const box = [x + dx, y + dy - 0.85 * this.size, x + dx + wide, y + dy + 0.2 * this.size];
        if (!this.free([box], null, () => over)) continue;
        this.taken.push(box);
        this.made.push(svg("text", { class: "halo name", x: x + dx, y: y + dy }, text));
        return true;
      }
    }
    return false;
  }
}

function level([, y1, , y2]) {
  return y1 === y2;
}

// "fp8, fp8_acc16, int8 1.98 PFLOP/s" as "fp8 1.98 PFLOP/s"; the path that dtypes share stays: a roof of vector units is
// none of matrix units. "bf16, fp16 vector 134 TFLOP/s" as "bf16 vector 134 TFLOP/s".
function short(label) {
  const words = label.split(" ");
  const [first, ...others] = words.slice(0, -2).join(" ").split(", ");
  const path = first.includes(" ") ? "" : others.find((name) => name.includes(" "))?.split(" ").slice(1).join(" ");
  return [first, path, ...words.slice(-2)].filter(Boolean).join(" ");
}

// As many names as a glance takes in, and how many more there are.
function listed(names) {
  let text = names[0];
  for (let at = 1; at < names.length; at += 1) {
    if (text.length + names[at].length > MOST) return `${text} +${names.length - at}`;
    text += `, ${names[at]}`;
  }
  return text;
}

// Tokens/s over the batch, and bars of shares.
import { el, put, svg } from "./dom.js";

export function curve(home, found, batch, decades) {
  const { width, height } = home.getBoundingClientRect();
  if (width < 60 || height < 60) return;
  const box = { left: 48, right: width - 20, top: 10, bottom: height - 26 };
  const every = [...found.floor, ...found.expected];
  const xs = [0, Math.log10(found.batches[found.batches.length - 1])];
  const ys = [Math.floor(Math.log10(Math.min(...every))), Math.log10(Math.max(...every)) + 0.1];
  const px = (b) => box.left + (Math.log10(b) / xs[1]) * (box.right - box.left);
  const py = (v) => box.bottom - ((Math.log10(v) - ys[0]) / (ys[1] - ys[0])) * (box.bottom - box.top);
  const made = [];
  for (let n = ys[0]; n <= ys[1]; n += 1) {
    made.push(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: py(10 ** n), y2: py(10 ** n) }));
    made.push(svg("text", { class: "tick", x: box.left - 5, y: py(10 ** n) + 4, "text-anchor": "end" }, decades[n] ?? `1e${n}`));
  }
  for (const b of found.batches.filter((b) => Number.isInteger(Math.log2(b) / 3))) {
    made.push(svg("text", { class: "tick", x: px(b), y: box.bottom + 17, "text-anchor": "middle" }, `${b}`));
  }
  if (found.free) {
    const x = px(found.free);
    made.push(svg("rect", { class: "free", x: box.left, y: box.top, width: x - box.left, height: box.bottom - box.top, "fill-opacity": ".1" }));
    made.push(svg("line", { class: "roof m2 dashed", x1: x, x2: x, y1: box.top, y2: box.bottom }));
  }
  if (found.room !== undefined && found.room < found.batches.at(-1)) {  // no room beyond
    const x = px(Math.max(1, found.room));
    made.push(svg("rect", { class: "roomless", x, y: box.top, width: box.right - x, height: box.bottom - box.top }));
  }
  const way = (values) => values.map((v, i) => `${i ? "L" : "M"}${px(found.batches[i]).toFixed(1)},${py(v).toFixed(1)}`).join("");
  made.push(svg("path", { class: "roof m0 dashed", d: way(found.floor) }));
  if (found.expected.length) made.push(svg("path", { class: "roof m0", d: way(found.expected) }));
  const here = Math.min(Math.max(batch, 1), found.batches[found.batches.length - 1]);
  made.push(svg("line", { class: "roof m1", x1: px(here), x2: px(here), y1: box.top, y2: box.bottom }));
  put(home, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": found.text }, ...made));
}

// A bar of shares of a whole; `usable` is marked where it is less.
export function bar(home, parts, usable = 1) {
  const over = Math.max(1, parts.reduce((sum, part) => sum + part.share, 0));
  const pieces = parts.map((part, at) => {
    const piece = el("i", { class: `b${at % 7}`, title: `${part.name} ${part.text}` });
    piece.style.width = `${(100 * part.share) / over}%`;
    return piece;
  });
  const marks = over > 1 || usable < 1 ? [el("u", {})] : [];
  for (const mark of marks) mark.style.left = `${(100 * usable) / over}%`;
  home.setAttribute("role", "img");
  home.setAttribute("aria-label", parts.map((part) => `${part.name} ${part.text}`).join(", "));
  put(home, ...pieces, ...marks);
}

export function legend(parts) {
  return parts.map((part, at) => el("li", {}, el("i", { class: `b${at % 7}` }), `${part.name} ${part.text}`));
}

// Where axes are marked, what overlaps, and how a span of an axis is moved. Only pixels and decades.

export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

export function around([low, high], factor, share) {
  const at = low + (high - low) * share;
  return [at - (at - low) * factor, at + (high - at) * factor];
}

// Whether a span of an axis shows something of the whole: neither far away, nor so small or large that nothing is told apart.
export function sees([low, high], whole) {
  const [size, all] = [high - low, whole[1] - whole[0]];
  return size > 1e-4 * all && size < 30 * all && low < whole[1] + 30 * all && high > whole[0] - 30 * all;
}

export function joined(one, other) {
  return [Math.min(one[0], other[0]), Math.max(one[1], other[1])];
}

export function crossing(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

// Where an axis is marked: whole decades, or round steps of a linear one and within a decade.
export function ticks([low, high], linear, decades, most) {
  if (!linear) {
    const every = Math.max(1, Math.ceil((high - low) / Math.max(1, most)));
    const found = [];
    for (let n = every * Math.ceil(low / every); n <= high; n += every) found.push([n, decades[n] ?? `1e${n}`]);
    return found.length ? found : ticks([10 ** low, 10 ** high], true, decades, most).map(([v, label]) => [Math.log10(v), label]);
  }
  const power = Math.floor(Math.log10((high - low) / 2));
  const step = [1, 2, 5, 10].map((m) => m * 10 ** power).find((s) => (high - low) / s <= Math.max(2, most)) ?? 10 ** (power + 1);
  const found = [];
  const digits = Math.max(2, 1 + Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / step)));
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push([v, v === 0 ? "0" : v.toPrecision(Math.min(digits, 9)).replace("e+", "e")]);
  return found;
}

// A line cut at a frame, as [x1, y1, x2, y2]; null when it is all outside.
export function within([x1, y1, x2, y2], [left, top, right, bottom]) {
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

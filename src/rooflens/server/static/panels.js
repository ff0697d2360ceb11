// The panels beside the plot: each takes a part of an answer and shows its texts as they came.
import { bar, legend } from "./chart.js";
import { by, el, pairs, put, table } from "./dom.js";

export function showPrediction(found, words) {
  const { tpot, ttft } = found.times;
  const line = (name, times) => [
    el("div", {}, el("span", {}, `${words(name)}, ${words("expected")}`), el("b", { id: `${name}_estimate` }, times.estimate), el("span", {}, times.interval)),
    el("div", {}, el("span", {}, `${words(name)}, ${words("floor")}`), el("b", { id: `${name}_floor` }, times.floor)),
  ];
  by("predicted_title").textContent = `${found.title}; ${found.precision}`;
  put(by("headline"), ...line("tpot", tpot), ...line("ttft", ttft));
  put(by("figures"), ...pairs(found.figures));
  bar(by("where"), found.where);
  put(by("where_said"), ...legend(found.where));
  bar(by("memory"), found.memory?.parts ?? [], found.memory?.usable ?? 1);
  const held = found.memory?.parts.map((part) => `${part.name} ${part.text}`).join(", ");
  by("memory_said").textContent = found.memory ? `${found.memory.text}. ${held}` : words("memory_unknown");
  by("memory_said").classList.toggle("alarm", found.memory?.fits === false);
  put(by("constants"), table([], found.constants));
}

export function showOperators(found) {
  const share = (at) => {
    const fill = el("i");
    fill.style.width = `${100 * found.rows[at].share}%`;
    return el("span", {}, el("span", { class: "gauge", "aria-hidden": "true" }, fill), found.rows[at].time);
  };
  const heads = found.heads.toSpliced(1, 0, found.share);
  put(by("operators"), table(heads, found.rows.map((row) => row.cells), { second: share, marked: (at) => found.rows[at].name }));
}

export function showLevers(found, words, pull) {
  const button = (at) => {
    const { change, cells } = found.rows[at];
    const [name] = cells;
    return change && pull ? el("button", { type: "button", "aria-label": `${words("apply")}: ${name}`, onclick: () => pull(name, change) }, words("apply")) : "";
  };
  const heads = found.heads.toSpliced(1, 0, words("change"));
  const made = table(heads, found.rows.map((row) => row.cells), { second: button, under: (at) => found.rows[at].note });
  put(by("levers"), made, el("p", { class: "soft small" }, found.foot));
  put(by("cannot"), ...found.cannot.map(([name, why]) => el("li", {}, el("b", {}, name), `: ${why}`)));
}

export function showCeilings(found) {
  put(by("ceilings"), table(found.heads, found.rows));
}

export function showClaim(found) {
  const said = el("ul", {}, ...found.said.map((text) => el("li", {}, text)));
  const cases = found.table.rows.length ? table(found.table.heads, found.table.rows) : null;
  const home = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "claim_title" }, ...(cases ? [cases] : []));
  put(by("claimed"), el("p", {}, found.title), el("p", { class: "verdict" }, found.verdict), said, home);
}

export function showFile(found) {
  by("files_title").textContent = found.title;
  put(by("file_said"), ...found.said.map((text) => el("li", {}, text)));
  put(by("file_rows"), ...(found.rows?.length ? [table(found.heads, found.rows)] : []));
  by("file_rows").hidden = !found.rows?.length;
  document.querySelector(".files").hidden = false;
}

export function showCommands(found, words, copy) {
  const rows = Object.values(found).map((line) =>
    el("li", {}, el("code", {}, line), el("button", { type: "button", "aria-label": `${words("copy_command")}: ${line}`, onclick: () => copy(line) }, words("copy"))),
  );
  put(by("commands"), ...rows);
}

// What a lever changed: the texts of before and after, side by side, and a way back.
export function showChange(name, before, after, words, undo) {
  const texts = (found) => [found.times.tpot.estimate, found.times.tpot.floor, ...found.figures.slice(0, 2).map((pair) => pair[1])];
  const names = [`${words("tpot")}, ${words("expected")}`, `${words("tpot")}, ${words("floor")}`, ...after.figures.slice(0, 2).map((pair) => pair[0])];
  const [then, now] = [texts(before), texts(after)];
  const rows = names.map((label, at) => [label, then[at], now[at]]);
  const home = by("applied");
  put(home, el("b", {}, name), table(["", words("before"), words("after")], rows), el("button", { type: "button", id: "undo", onclick: undo }, words("undo")));
  home.querySelector("thead th").textContent = words("value");
  home.hidden = false;
}

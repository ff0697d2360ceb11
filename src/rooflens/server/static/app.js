// The page: controls make a state, the state is a link, answers fill the panels. Every number comes from Python.
import { by, el, put, svg } from "./dom.js";
import { ALL, PLAIN, fromLink, learn, toLink } from "./link.js";
import { ask, held, patiently, sent } from "./ask.js";
import { aloud, copy, fault, note, page, words } from "./page.js";
import { MARKS, Plot } from "./plot.js";
import { curve } from "./chart.js";
import { showCeilings, showChange, showCommands, showLevers, showOperators, showPrediction } from "./panels.js";
import { csv, picture, png, save } from "./keep.js";
import { choices, controls, handled, still } from "./controls.js";
import { forget, known, settle } from "./later.js";
import { asides } from "./asides.js";

const MOVED_MS = 200;

// The newest state is asked for, one at a time: what was dragged past is not.
async function answer() {
  if (page.asking) { page.again = true; return; }
  page.asking = true;
  do {
    page.again = false;
    const asked = page.state;
    try {
      const found = await ask("state", asked, words, { waiting: (why) => aloud(`${why}; ${words("asks_again")}`), wanted: () => !page.again });
      if (asked.lang === page.state.lang) shown(found, asked);
      fault("");
      document.body.classList.remove("stale");
    } catch (error) {
      if (page.again) continue;
      fault(error.message, error.later ? answer : null);
      document.body.classList.add("stale");  // what is shown answers an older question
    }
  } while (page.again);
  page.asking = false;
  settle(panels);
}

function shown(found, asked) {
  const fresh = JSON.stringify({ ...asked, batch: 0, lang: "", context: 0 });
  page.answer = found;
  page.shownFor = asked;
  by("subtitle").textContent = found.plot.subtitle;
  page.plot.show({ ...found.plot, sources: found.sources ?? {} }, fresh !== page.fresh);
  if (fresh !== page.fresh || asked.lang !== page.shownLang) roofs(found.plot);
  page.fresh = fresh;
  page.shownLang = asked.lang;
  showPrediction(found.predicted, words);
  showOperators(found.operators);
  showCommands(found.commands, words, copy);
  put(by("notes"), ...[...found.plot.notes, ...found.notes].map((text) => el("li", {}, text)));
  if (page.lever?.before) showChange(page.lever.name, page.lever.before, found.predicted, words, undo);
  else by("applied").hidden = true;
  document.body.dataset.batch = asked.batch;
  document.body.dataset.ready = "yes";
  chart();
}

// The list of lines: each as it is drawn, by the mark of its machine, to be seen or not.
function roofs(plot) {
  const mark = (at) => svg("svg", { viewBox: "-9 -9 18 18", "aria-hidden": "true" }, svg("path", { class: `f${at}`, d: MARKS[at] }));
  const dash = (line) => svg("svg", { class: "dash", viewBox: "0 0 28 8", "aria-hidden": "true" }, svg("line", { class: `roof m${line.machine}${line.solid ? "" : " dashed"}`, x1: 0, x2: 28, y1: 4, y2: 4 }));
  const several = plot.machines.length > 1;
  const made = [...plot.slopes, ...plot.roofs].map((line) => {
    const box = el("input", { type: "checkbox", onchange: (event) => page.plot.toggle(line, event.target.checked) });
    box.checked = page.plot.shows(line);
    const title = several ? ` (${plot.machines[line.machine].title})` : "";
    return el("label", { class: "check" }, box, dash(line), several ? mark(line.machine) : null, el("span", {}, `${line.label}${title}`));
  });
  put(by("roofs"), ...made);
  put(by("machines"), ...plot.machines.map((machine, at) => el("li", {}, mark(at), machine.title)));
}

function chart() {
  const found = known("batching");
  if (!found) return;
  const { batches, free, text } = found;
  by("free").textContent = text;
  by("free_said").textContent = found.short;
  by("free_bar").firstChild.style.width = `${(100 * batches.indexOf(free ?? batches.at(-1))) / (batches.length - 1)}%`;
  curve(by("batching"), found, page.state.batch, page.start.counts);
}

function panels(state) {
  const levers = held ? { ...state, batch: held.start.first.batch } : state;
  return [
    { kind: "batching", key: { ...state, batch: 1 }, show: () => chart() },
    { kind: "ceilings", key: { ...state, batch: 1 }, show: (found) => showCeilings(found) },
    { kind: "levers", key: levers, show: (found) => showLevers(found, words, held ? null : pull), meanwhile: "pricing" },
  ];
}

function change(changed, { remember = true, lever = null } = {}) {
  page.lever = lever;
  page.state = Object.fromEntries(Object.entries({ ...page.state, ...changed }).filter(([, value]) => value !== undefined && value !== null));
  history[remember ? "pushState" : "replaceState"](null, "", link());
  controls();
  answer();
}

function link() {
  return toLink(page.state, page.plot.view);
}

// The plot is looked at otherwise: its link says so when a hand rests.
function moved() {
  clearTimeout(page.moving);
  page.moving = setTimeout(() => history.replaceState(null, "", link()), MOVED_MS);
}

function pull(name, set) {
  const before = page.state;
  change(set, { lever: { name, before: page.answer.predicted, state: before } });
}

function undo() {
  change({ ...Object.fromEntries(Object.keys(page.state).map((name) => [name, PLAIN[name]])), ...page.lever.state });
}

function tell() {
  const { lang } = page.state;
  document.documentElement.lang = lang;
  for (const node of document.querySelectorAll("[data-say]")) node.textContent = words(node.dataset.say);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", words(node.dataset.label));
  page.plot.draw();
}

function listen() {
  handled(change);
  asides(change);
  by("lang").addEventListener("change", (event) => { forget(); change({ lang: event.target.value }); choices(); controls(); tell(); });
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); by("plot").focus(); });  // what is behind the # is the state
  by("zoom_in").addEventListener("click", () => page.plot.zoom(1 / 1.25));
  by("zoom_out").addEventListener("click", () => page.plot.zoom(1.25));
  by("see_all").addEventListener("click", () => { page.plot.fit(true); page.plot.draw(); });
  by("linear").addEventListener("change", (event) => page.plot.setLinear(event.target.checked));
  window.addEventListener("popstate", () => open(false));
  window.addEventListener("hashchange", () => { if (location.hash !== link()) open(false); });
  new ResizeObserver(() => chart()).observe(by("batching"));
  by("copy_link").addEventListener("click", () => copy(location.href.replace(/#.*|$/, link())));
  keep();
}

function keep() {
  const named = ({ model, machines, batch }) => `${model}-${machines[0]}-b${batch}`.replace(/[^\w.-]+/g, "-");
  const kept = (kind, content, type) => by(`keep_${kind}`).addEventListener("click", async () => {
    if (page.answer) save(`${named(page.shownFor)}.${kind}`, await content(), type);
    else note(words("nothing_kept"));
  });
  kept("svg", () => picture(page.plot.root, page.answer.plot.title).text, "image/svg+xml");
  kept("png", () => png(page.plot.root, page.answer.plot.title));
  kept("csv", () => csv(page.answer.place), "text/csv");
  kept("json", () => {
    const { schema, state, place, predict } = page.answer;
    const levers = known("levers", page.shownFor);
    return `${JSON.stringify({ schema, state, place, predict, ...levers && { advise: levers.advise } }, null, 1)}\n`;
  }, "application/json");
}

// The state of the address, or the one that the page was started with.
function open(first) {
  const lang = page.state?.lang ?? document.documentElement.lang;
  const found = fromLink(location.hash, lang);
  const ours = found && ["en", "es", "vi"].includes(found.state.lang);
  page.state = ours ? found.state : { ...PLAIN, ...page.start.first, ...(first ? { lang } : {}) };
  page.lever = null;
  page.plot.look(found?.view ?? ALL);
  by("linear").checked = page.plot.linear;
  page.shownLang = null;  // what is hidden is told anew beside its lines
  if (!by("claim_first").value) by("claim_first").value = page.state.machines[0].split(",")[0].replace("measured:", "");
  choices();
  controls(true);
  tell();
  document.body.dataset.open = "yes";
  if (found ? !(found.whole && ours) : location.hash.length > 1) note(words("bad_link"));
  answer();
}

// What the page must know before it asks: until it is here, one sentence stands in the page.
function begun() {
  return sent("start", {}, () => by("unreached").textContent);
}

async function begin() {
  page.start = held ? held.start : await patiently(begun, {});
  fault("");
  learn(page.start.fields);
  page.state = { ...PLAIN, ...page.start.first, lang: document.documentElement.lang };
  page.plot = new Plot(by("plot"), Object.assign(words, { decades: page.start.decades }), (name) => {
    for (const row of document.querySelectorAll("#operators tr")) row.classList.toggle("here", name !== null && row.dataset.name === name);
  }, moved);
  if (held) {
    by("offline").hidden = false;
    still();
  }
  listen();
  open(true);
}

function start() {
  begin().catch((error) => fault(error.message, error.later ? start : null));
}

start();

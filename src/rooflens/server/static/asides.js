// What a person asks beside the state: a file that is dropped, a claim to be judged.
import { by } from "./dom.js";
import { ask, held, patiently, sent } from "./ask.js";
import { fault, note, page, words } from "./page.js";
import { showClaim, showFile } from "./panels.js";

export function asides(change) {
  by("claim").addEventListener("submit", (event) => { event.preventDefault(); judge(); });
  by("file").addEventListener("change", (event) => { if (event.target.files[0]) dropped(event.target.files[0], change); event.target.value = ""; });
  by("put_away").addEventListener("click", putAway);
  for (const name of ["dragover", "dragleave", "drop"]) document.addEventListener(name, (event) => dropping(event, change));
}

async function judge() {
  const said = { first: by("claim_first").value.trim(), second: by("claim_second").value.trim(), says: by("claim_says").value.trim() };
  const asked = Object.fromEntries(Object.entries(said).filter(([, text]) => text));
  if (by("claim_times").value) asked.times = Number(by("claim_times").value);
  try {
    showClaim(await ask("claim", { ...asked, lang: page.state.lang }, words, { waiting }));
    fault("", null, "aside");
  } catch (error) {
    fault(error.message, error.later ? judge : null, "aside");
  }
}

function waiting(why) {
  note(`${why}; ${words("asks_again")}`);
}

function dropping(event, change) {
  if (!event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.toggle("over", event.type === "dragover");
  if (event.type === "drop" && event.dataTransfer.files[0]) dropped(event.dataTransfer.files[0], change);
}

// A file leaves the page as it came: its table and its crosses.
function putAway() {
  document.querySelector(".files").hidden = true;
  page.plot.foreign = [];
  page.plot.draw();
  by("file").focus();
}

async function dropped(file, change) {
  if (held) { fault(words("offline"), null, "aside"); return; }
  note(`${words("reading")} ${file.name}`);
  const said = new URLSearchParams({ name: file.name, on: page.state.machines[0], lang: page.state.lang });
  const how = { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file };
  try {
    const found = await patiently(() => sent(`api/file?${said}`, how, words), { waiting });
    showFile(found);
    page.plot.foreign = found.spots ?? [];
    page.plot.draw();
    if (found.kind === "config") change({ model: found.name, config: found.config });
    fault("", null, "aside");
    document.querySelector(".files").scrollIntoView({ block: "nearest" });
  } catch (error) {
    fault(error.message, error.later ? () => dropped(file, change) : null, "aside");
  }
  note("");
}

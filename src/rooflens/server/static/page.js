// What the page is at: its state, the answer that is shown, and what it says aloud.
import { by } from "./dom.js";

const NOTED_MS = 8000;
export const page = { state: null, answer: null, start: null, plot: null, lever: null, asking: false, again: false, fresh: "" };

export const words = (name) => page.start.words[page.state.lang][`page.${name}`] ?? name;

// What is seen and read aloud for a while, over the page: nothing moves.
export function note(sentence) {
  clearTimeout(page.noted);
  by("status").textContent = sentence;
  if (sentence) page.noted = setTimeout(() => note(""), NOTED_MS);
}

// What is read aloud and seen elsewhere.
export function aloud(sentence) {
  by("aloud").textContent = sentence;
}

// What went wrong, until something goes right; `again` for what may be asked once more.
export function fault(sentence, again = null) {
  if (by("error").textContent !== sentence) by("error").textContent = sentence;
  by("fault").classList.toggle("none", !sentence);
  by("again").hidden = !again;
  by("again").onclick = again;
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(words("copied"));
  } catch {
    note(text);  // where a page may not copy, a person can
  }
}

// Who answers: the server, or in one file what it holds. `words` says what is wrong in the language of the page.
import { by } from "./dom.js";
import { PLAIN } from "./link.js";

const MOST_AGAIN = 5;
const LONGEST_S = 30;
export const held = by("held") ? JSON.parse(by("held").textContent) : null;

// No answer yet: the same question may have one later. after_s: when to ask again; undefined where nobody was reached.
class Later extends Error {
  constructor(sentence, after_s) {
    super(sentence);
    this.later = true;
    this.after_s = after_s;
  }
}

export function ask(kind, state, words, patience = {}) {
  if (held) return offline(kind, state, words);
  const how = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(state) };
  return patiently(() => sent(`api/${kind}`, how, words), patience);
}

export async function sent(path, how, words) {
  let reply;
  try {
    reply = await fetch(path, how);
  } catch {
    throw new Later(words("no_answer"));
  }
  return told(reply, words);
}

// Who is told that others are served first asks again: when the server said, or each time after twice as long, and up to
// half as much later, so that not all of them come back at once. wanted: whether anybody still waits for it.
export async function patiently(once, { waiting = () => {}, wanted = () => true }) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await once();
    } catch (error) {
      if (error.after_s === undefined || tries >= MOST_AGAIN) throw error;
      waiting(error.message);
      const wait_s = Math.min(Math.max(error.after_s, 2 ** (tries - 1)), LONGEST_S) * (1 + Math.random() / 2);
      await new Promise((done) => { setTimeout(done, 1000 * wait_s); });
      if (!wanted()) throw error;
    }
  }
}

async function told(reply, words) {
  const found = await reply.json().catch(() => ({ error: words("no_answer") }));
  const sentence = found.error ?? words("no_answer");
  if (reply.status === 503) throw new Later(sentence, Number(reply.headers.get("Retry-After")) || 1);
  if (!reply.ok || found.error) throw new Error(sentence);
  return found;
}

function offline(kind, state, words) {
  const first = held.start.first;
  const same = Object.keys({ ...first, ...state }).every((name) => ["batch", "lang"].includes(name) || JSON.stringify(first[name] ?? PLAIN[name] ?? null) === JSON.stringify(state[name] ?? PLAIN[name] ?? null));
  const found = kind === "state" ? held.state[state.lang]?.[state.batch] : held[kind]?.[state.lang];
  if (!same || !found) throw new Error(words("offline"));
  if (found.error) throw new Error(found.error);
  return kind === "state" ? { ...held.state.en[state.batch], ...found, state } : found;
}

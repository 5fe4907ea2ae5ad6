// Calls of the server's API: the token, errors in words, and server-sent events as they come.

const KEY = "atomr.token";
let token = "";
try {
  token = sessionStorage.getItem(KEY) ?? "";
} catch {
  // the browser keeps nothing
}

/** Asks the user for the token: a promise of it, or of null where they give none. Set by token.js. */
let askForToken = async () => null;
export const setTokenQuestion = (ask) => {
  askForToken = ask;
};

/** What went wrong, as the server says it, with the seconds after which to try again. */
export class CallError extends Error {
  constructor({ title = "Error", message, hint = "", status = 0, code = null, retryAfter = null }) {
    super(message);
    Object.assign(this, { title, hint, status, code, retryAfter });
  }
}

const GONE = {
  title: "The server does not answer",
  message: "The server cannot be reached.",
  hint: "Is `atomr serve` still running?",
};

async function failure(response) {
  let told = {};
  try {
    told = (await response.json()).error ?? {};
  } catch {
    // no JSON: a proxy may have answered
  }
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return new CallError({
    title: told.title || "Error",
    message: told.message || `The server answered with status ${response.status}.`,
    hint: told.hint || "",
    status: response.status,
    code: told.code ?? null,
    retryAfter: Number.isFinite(seconds) ? seconds : null,
  });
}

/** The answer to one request; where a token is wanted, the user is asked for it. Throws CallError, or AbortError. */
async function call(path, { method = "GET", body, signal } = {}) {
  for (let wrong = false; ; wrong = true) {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let response;
    try {
      response = await fetch(path, {
        method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
        credentials: "omit", cache: "no-store", redirect: "error",
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new CallError(GONE);
    }
    if (response.ok) return response;
    const error = await failure(response);
    if (error.status !== 401) throw error;
    const given = await askForToken(wrong || token !== "");
    if (given === null) throw error;
    token = given;
    try {
      sessionStorage.setItem(KEY, given);
    } catch {
      // it holds until the page is left
    }
  }
}

/** The JSON at an address. */
export async function get(path, signal) {
  return (await call(path, { signal })).json();
}

/** The text at an address. */
export async function getText(path) {
  return (await call(path)).text();
}

/** Deletes what is at an address. */
export async function remove(path) {
  await call(path, { method: "DELETE" });
}

/** Asks a question: once the server has taken it, a generator of its events. */
export async function ask(body, signal) {
  const response = await call("/api/ask", { method: "POST", body, signal });
  return sent(response.body);
}

/** The events of a stream. Throws CallError where the connection breaks. */
async function* sent(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let ended = false;
  try {
    for (;;) {
      let piece;
      try {
        piece = await reader.read();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new CallError({ ...GONE, message: "The connection broke before the answer was there." });
      }
      if (piece.done) {
        ended = true;
        return;
      }
      let from = Math.max(0, rest.length - 1); // the end of a block may come in two pieces
      rest += piece.value;
      for (let end; (end = rest.indexOf("\n\n", from)) >= 0; from = 0) {
        const block = rest.slice(0, end);
        rest = rest.slice(end + 2);
        const lines = block.split("\n").filter((line) => line.startsWith("data:"));
        if (lines.length) yield JSON.parse(lines.map((line) => line.slice(5)).join("\n"));
      }
    }
  } finally {
    if (!ended) reader.cancel().catch(() => {});
  }
}

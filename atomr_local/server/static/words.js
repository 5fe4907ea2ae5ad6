// The words of the program. Lists of words come from the server, which the terminal UI shares them with.

const WORDS = await (await fetch("/page/words.json", { credentials: "omit" })).json();

export const { notFound, yourAnswer, misfit, ratingMeans, closest, closestInDocuments, alsoClose } = WORDS;

const LONGEST_NAME = 60;

/** The state of a step: its mark, the word for it, and the class that colours it. */
export const STATES = {
  waiting: { mark: "○", word: "waiting" },
  retrieving: { mark: "◌", word: "looks for evidence" },
  reasoning: { mark: "◐", word: "thinking" },
  found: { mark: "●", word: "found" },
  computed: { mark: "=", word: "computed" },
  memory: { mark: "◇", word: "from the model's own knowledge" },
  unknown: { mark: "?", word: notFound },
  failed: { mark: "✗", word: "failed" },
  kept: { mark: "◆", word: "kept from before" },
  given: { mark: "✎", word: yourAnswer },
  stopped: { mark: "–", word: "not finished" },
};

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const several = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

/** The text on one line, cut where it is longer. */
export function shortened(text, longest = 300) {
  const line = String(text).slice(0, 2 * longest).replace(/\s+/g, " ").trim();
  return line.length <= longest && text.length <= 2 * longest ? line : `${line.slice(0, longest).trimEnd()} …`;
}

/** The level of a confidence: its word and sign. */
export const level = (confidence) => WORDS.confidence.find((item) => confidence >= item.least) ?? WORDS.confidence.at(-1);
/** "≈ probably (0.76)" */
export const sure = (confidence) => {
  const { word, sign } = level(confidence);
  return `${sign} ${word} (${confidence.toFixed(2)})`;
};

export const methodText = (method) => WORDS.methods[method] ?? shortened(method, LONGEST_NAME);
export const originText = (origin) => WORDS.origins[origin] ?? shortened(origin, LONGEST_NAME);
export const ratingText = (score) => (typeof score === "number" ? (score.toFixed(2) === "-0.00" ? "0.00" : score.toFixed(2)) : "–");

const PLAIN_KINDS = ["root", "parent", "step", "direct"];
/** What a step is: its operator or operation, or what its method calls it. */
export function stepKind(view) {
  if (view.operation) return shortened(view.operation, LONGEST_NAME);
  if (["search", "relate", "filter"].includes(view.kind)) return capitalised(view.kind);
  const name = (Object.hasOwn(WORDS.labels, view.label) ? WORDS.labels[view.label] : view.label) || "";
  return shortened(name || (PLAIN_KINDS.includes(view.kind) ? "" : view.kind), LONGEST_NAME);
}
/** "Step 4", or "Answer" for the whole question. */
export const stepName = (id) => (id === 0 ? "Answer" : `Step ${id}`);

/** "answer of [5]" as "taken from step 5". */
export const computationText = (text) =>
  String(text)
    .replace(/\banswer of \[(\d+)\]/g, "taken from step $1")
    .replace(/^tree: (.*?); direct: (.*)$/s, "step by step: $1; directly from what was found: $2");

/** The number of the step that an answer was taken from as it is; null if it was not. */
export function takenFrom(computation) {
  const found = /^answer of \[(\d+)\]$/.exec(computation ?? "");
  return found ? Number(found[1]) : null;
}

export const warningText = (text) =>
  String(text)
    .replace(/^the evidence does not mention (.+)$/s, "the cited evidence does not mention $1: the answer may not fit it")
    .replace(/^the plan leaves out (.+)$/s, "no step asks about $1: the answer may not fit it");

export function checkText({ supported, cited, signals }) {
  if (signals?.subject === 0) return "the cited passage contains this answer, but is about another subject";
  if (supported) return "the cited passage contains this answer";
  return cited.length ? "the cited passage does not contain this answer" : "no passage is cited for this answer";
}

export const correctionText = (before) =>
  before ? `corrected: the model had “${shortened(before, 120)}”` : "completed: the model did not know";

export const actionText = (action) => `${shortened(action.name ?? "", LONGEST_NAME)}[${shortened(action.input ?? "")}]`;

/** What was measured of an answer, most telling first. */
export function measuresText(signals) {
  const told = [];
  for (const [name, words] of Object.entries(WORDS.measures)) {
    if (!Object.hasOwn(signals, name) || typeof signals[name] !== "number") continue;
    const figure = WORDS.counts.includes(name) ? signals[name].toFixed(0) : `${(100 * signals[name]).toFixed(0)}%`;
    told.push(`${words} ${figure}`);
  }
  return told.join(" · ");
}

/** Each warning once, with all the steps that it was raised for. */
export function gathered(warnings) {
  const steps = new Map();
  for (const warning of warnings) {
    const found = /^step (\d+): (.*)$/s.exec(warning);
    const text = found ? found[2] : warning;
    if (!steps.has(text)) steps.set(text, []);
    if (found && !steps.get(text).includes(found[1])) steps.get(text).push(found[1]);
  }
  return [...steps].map(([text, numbers]) =>
    numbers.length ? `step${numbers.length > 1 ? "s" : ""} ${numbers.join(", ")}: ${text}` : text,
  );
}

/** What was sent where, such as "question, evidence → api.example.org"; "" if nothing was. */
export function leftMachine(departures) {
  const told = [];
  for (const to of new Set(departures.map((item) => item.to))) {
    const items = departures.filter((item) => item.to === to);
    const what = [...new Set(items.filter((item) => item.query === null).map((item) => item.what))];
    const queries = items.filter((item) => item.query !== null).map((item) => `“${item.query}”`);
    if (queries.length) {
      const more = queries.length > 3 ? ` and ${queries.length - 3} more` : "";
      what.push(`${queries.length === 1 ? "web query" : "web queries"} ${queries.slice(0, 3).join(", ")}${more}`);
    }
    told.push(`${what.join(", ")} → ${to}`);
  }
  return told.join("; ");
}

/** What can be done about a missing answer, as far as it can be done from here. */
export function adviceTexts(answer) {
  const told = (answer.advised ?? []).map(({ kind, names }) => {
    const text = Object.hasOwn(WORDS.advice, kind) ? WORDS.advice[kind] : "";
    return text.replace("{names}", () => (names ?? []).join(kind === "sources" ? " and the " : " or "));
  }).filter(Boolean);
  return told.length ? told : answer.advice;
}

const PLACES = { page: ["p.", "pp."], slide: ["slide", "slides"], line: ["line", "lines"], cell: ["cell", "cells"], cells: ["", ""], time: ["", ""], message: ["", ""] };
const PAGE_KINDS = { table: "table", infobox: "infobox", code: "source code" };

/** The place of evidence in words: "report.pdf, p. 3, Methods", "table 2, rows 3–9", "index starter, passage 5". */
export function placeText(locator) {
  const parts = [];
  if (typeof locator.file === "string" && locator.file) {
    parts.push(locator.file);
    for (const [kind, [one, more]] of Object.entries(PLACES)) {
      if (!Object.hasOwn(locator, kind)) continue;
      const value = locator[kind];
      const range = Array.isArray(value) && value.length === 2;
      const told = kind === "page" && locator.page_words;
      parts.push(told ? String(told) : (range ? `${more} ${value[0]}–${value[1]}` : `${one} ${value}`).trim());
    }
    if (locator.heading) parts.push(String(locator.heading));
  } else if (Object.hasOwn(PAGE_KINDS, locator.kind)) {
    parts.push(PAGE_KINDS[locator.kind] + (locator.kind === "table" && "table" in locator ? ` ${locator.table}` : ""));
    const rows = locator.table_rows;
    if (locator.kind === "table" && Array.isArray(rows) && rows.length === 2) {
      parts.push(rows[0] === rows[1] ? `row ${rows[0]}` : `rows ${rows[0]}–${rows[1]}`);
    }
    if (locator.section) parts.push(String(locator.section));
  } else if ("passage" in locator) {
    if (locator.index) parts.push(`index ${locator.index}`);
    parts.push(`passage ${locator.passage}`);
  }
  return shortened(parts.join(", "));
}

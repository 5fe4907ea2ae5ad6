// Texts with the answers marked in them, and the sentences that hold an answer.

import { make } from "./dom.js";

const SHORT = 400; // characters of a passage that are shown without opening it
const MOST = 40_000; // characters of a text that are looked through

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter("en", { granularity: "sentence" }) : null;

/** [from, to] of every sentence. */
function sentences(text) {
  if (segmenter === null) return [[0, text.length]];
  const found = [];
  for (const { index, segment } of segmenter.segment(text)) found.push([index, index + segment.length]);
  return found;
}

const wordsOf = (answers) => [...new Set(answers.map((answer) => answer.trim().toLowerCase()).filter(Boolean))];

/** The text in which nothing has another length in lower case, so that places in one are places in the other. */
const lowered = (text) => [...text].map((sign) => (sign.toLowerCase().length === sign.length ? sign.toLowerCase() : sign)).join("");

/** A sentence as nodes, with the answers in it marked. */
function withAnswers(text, words) {
  const low = lowered(text);
  const nodes = [];
  let at = 0;
  while (at < text.length) {
    let first = -1;
    let longest = "";
    for (const word of words) {
      const place = low.indexOf(word, at);
      if (place >= 0 && (first < 0 || place < first || (place === first && word.length > longest.length))) {
        first = place;
        longest = word;
      }
    }
    if (first < 0) break;
    if (first > at) nodes.push(text.slice(at, first));
    nodes.push(make("strong", {}, text.slice(first, first + longest.length)));
    at = first + longest.length;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/** The text with its answers strong and their sentences marked. */
export function marked(text, answers) {
  const words = wordsOf(answers);
  const shown = text.slice(0, MOST);
  const nodes = [];
  for (const [from, to] of sentences(shown)) {
    const sentence = shown.slice(from, to);
    const low = lowered(sentence);
    if (words.some((word) => low.includes(word))) nodes.push(make("mark", {}, withAnswers(sentence, words)));
    else nodes.push(sentence);
  }
  if (text.length > MOST) nodes.push(` … and ${(text.length - MOST).toLocaleString("en")} more characters`);
  return nodes;
}

const AROUND = 160; // characters shown beside few telling ones
const MOST_TOLD = 500; // characters of telling sentences

/** The text around the spans, which count code points, as nodes: what tells is marked, and gaps are "…". */
export function around(text, spans) {
  const signs = [...text.slice(0, MOST)];
  const told = spans.map(([from, to]) => [Math.max(from, 0), Math.min(to, signs.length)]).filter(([from, to]) => from < to).sort((a, b) => a[0] - b[0]);
  const piece = (from, to) => signs.slice(from, to).join("");
  if (!told.length) return [piece(0, AROUND), signs.length > AROUND ? " …" : ""];
  const nodes = [];
  const first = told[0][0];
  const before = first > AROUND ? first : 0;
  if (before) nodes.push("… ");
  let at = before;
  let size = 0;
  for (const [from, to] of told) {
    if (to <= at || size >= MOST_TOLD) continue;
    const start = Math.max(from, at);
    if (start > at) nodes.push(start - at > AROUND ? " … " : piece(at, start));
    const end = Math.min(to, start + MOST_TOLD - size);
    nodes.push(make("mark", {}, piece(start, end)), end < to ? " …" : "");
    size += end - start;
    at = to;
  }
  const rest = piece(at, signs.length);
  if (rest.length <= AROUND) nodes.push(rest);
  else if (rest.trim()) nodes.push(" …");
  return nodes;
}

/** The part of a long text to show first: the sentences with the answers, or its beginning. "" where all is short. */
export function excerpt(text, answers) {
  if (text.length <= SHORT) return "";
  const words = wordsOf(answers);
  const shown = text.slice(0, MOST);
  const held = sentences(shown).filter(([from, to]) => {
    const low = lowered(shown.slice(from, to));
    return words.some((word) => low.includes(word));
  });
  if (!held.length) return `${text.slice(0, SHORT).trimEnd()} …`;
  const parts = held.slice(0, 2).map(([from, to]) => text.slice(from, to).trim());
  return `${held[0][0] > 0 ? "… " : ""}${parts.join(" … ")} …`;
}

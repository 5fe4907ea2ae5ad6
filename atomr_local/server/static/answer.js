// The answer: what it says, its citations, how sure it is, what speaks against it, and what it took.

import { byId, button, make } from "./dom.js";
import { around } from "./marks.js";
import { adviceTexts, alsoClose, capitalised, checkText, closest, closestInDocuments, gathered, leftMachine, level, misfit, notFound, placeText, several, shortened, sure, warningText, yourAnswer } from "./words.js";

const LONG = 120; // characters of an answer, after which a doubt below it might not be seen

/** The answer in a few words, for the line that screen readers speak, and for the list of earlier questions. */
export function inShort(trace) {
  if (trace.status === "unknown") return capitalised(notFound);
  if (trace.status !== "answered") return capitalised(trace.status);
  return trace.answers.join("; ") || trace.answer;
}

/** How it ended, in words: "well supported", "your answer", "not found", "cancelled". */
export function statusWord(trace) {
  if (trace.status === "unknown") return notFound;
  if (trace.status !== "answered") return trace.status;
  const root = trace.nodes.find((node) => node.parent === null);
  if (root && root.method === null && root.answers.length) return yourAnswer;
  return typeof trace.confidence === "number" ? level(trace.confidence).word : trace.status;
}

export class AnswerPane {
  /** @param actions { cite(id), guess() } */
  constructor(actions) {
    this.actions = actions;
    this.section = byId("answer");
    this.body = byId("answer-body");
  }

  show(state) {
    const answer = state.answer;
    this.section.hidden = !answer && !state.stopped;
    this.section.dataset.support = this.support(state);
    this.body.replaceChildren(...(answer ? this.parts(state, answer) : []));
    if (state.stopped) this.body.prepend(make("p", { class: "doubt" }, `⚠ Stopped: ${state.stopped}`));
  }

  support(state) {
    const answer = state.answer;
    if (answer?.status === "unknown") return "lost";
    if (answer?.status !== "answered") return "";
    if (state.root?.byUser) return "doubtful";
    if (typeof answer.confidence !== "number") return "";
    if (this.doubts(state).length) return "doubtful";
    return { "✓": "well", "≈": "likely", "⚠": "doubtful" }[level(answer.confidence).sign];
  }

  parts(state, answer) {
    const said = [];
    if (answer.status === "unknown" && answer.reason) said.push(...this.declined(state, answer));
    else {
      const how = state.root?.byUser ? `✎ ${yourAnswer}` : typeof answer.confidence === "number" ? sure(answer.confidence) : "";
      const marks = [this.citations(state), how ? make("span", { class: "how" }, ` ${how}`) : ""];
      const passages = state.passages;
      if (passages.length && answer.answer_kind === "quotation") {
        said.push(make("blockquote", { class: "said text" }, answer.answer));
        said.push(make("p", {}, passages.map((item) => this.source(item, state)).join(", "), " ", marks));
      } else {
        said.push(make("p", { class: "said" },
          make(answer.status === "answered" ? "strong" : "em", {}, answer.answer || answer.reason), " ", marks));
        said.push(...passages.map((item) => this.passage(item, state)));
      }
      const near = answer.status === "answered" ? state.known(answer.closest) : [];
      if (near.length) said.push(make("h4", {}, alsoClose), ...near.map((item) => this.passage({ ...item, spans: item.spans.slice(0, 1) }, state)));
    }
    const doubts = this.doubts(state).map((text) => make("p", { class: "doubt" }, `⚠ ${text}`));
    const parts = answer.answer.length > LONG ? [...doubts, ...said] : [...said, ...doubts];
    const rests = this.restsOn(state);
    if (rests) parts.push(make("p", {}, `${answer.status === "answered" ? "Rests" : "The guess rests"} on ${rests}.`));
    if (answer.basis === "model" && answer.answers.length) {
      parts.push(make("p", { class: "doubt" }, "⚠ This is the model's own knowledge: no evidence supports it."));
    }
    if (state.planFailed) {
      parts.push(make("p", { class: "doubt" }, "⚠ The question could not be broken down; it was answered in one step."));
    }
    if (state.origin === "example") parts.push(make("p", {}, "The plan is the one that you kept for this question."));
    for (const warning of gathered(state.warnings.filter((text) => warningText(text) === text))) {
      parts.push(make("p", { class: "doubt" }, `⚠ ${warning}`));
    }
    if (state.departures.length) parts.push(make("p", { class: "doubt" }, `Left the machine: ${leftMachine(state.departures)}`));
    if (state.trace) parts.push(make("p", { class: "faint" }, this.totals(state.trace)));
    return parts;
  }

  declined(state, answer) {
    const parts = [];
    const guess = answer.guess && answer.guess.answers.length ? answer.guess : null;
    if (guess && state.guessShown) {
      const whence = guess.basis === "model" ? " from the model's own knowledge" : "";
      parts.push(make("p", { class: "guess" }, `A guess${whence}, not an answer: `, make("em", {}, guess.answers.join(", ")), " ",
        this.citations(state), typeof guess.confidence === "number" ? make("span", { class: "how" }, ` ${sure(guess.confidence)}`) : ""));
    }
    parts.push(make("p", { class: "said" }, make("strong", {}, `? ${capitalised(notFound)}. `), answer.reason));
    if (guess) {
      parts.push(make("p", {}, button({ id: "guess", "aria-expanded": String(state.guessShown) }, () => this.actions.guess(), state.guessShown ? "Hide the guess" : "Show the guess")));
    }
    const near = state.passages;
    if (near.length) {
      const own = near.some((item) => state.evidence.get(item.evidence).locator?.file);
      parts.push(make("h4", {}, own ? closestInDocuments : closest), ...near.map((item) => this.passage(item, state)));
    }
    const advice = adviceTexts(answer);
    if (advice.length) parts.push(make("ul", {}, advice.map((text) => make("li", {}, text))));
    return parts;
  }

  /** A passage with its telling sentences marked, where it is from, and a way to the whole of it. */
  passage(item, state) {
    const name = item.evidence;
    return make("blockquote", { class: "passage" },
      make("p", { class: "text" }, around(state.evidence.get(name).text, item.spans)),
      make("p", { class: "faint" }, this.source(item, state), " ", button({ class: "citation", "aria-label": `Evidence ${name}` }, () => this.actions.cite(name), `[${name}]`)));
  }

  source(item, state) {
    const { title, locator, source } = state.evidence.get(item.evidence);
    const place = locator?.file || locator?.kind ? placeText(locator) : source;
    return shortened(place ? `${title} (${place})` : title);
  }

  /** What the answer may not fit. */
  doubts(state) {
    const told = [...new Set(state.warnings)].filter((text) => warningText(text) !== text).map((text) => `${capitalised(warningText(text))}.`);
    const result = state.answer?.status === "answered" ? state.root?.result : null;
    if (result?.answers.length && result.signals.type_fit === 0) told.push(`This is ${misfit}.`);
    if (result && result.supported === false) told.push(`${capitalised(checkText(result))}.`);
    return told;
  }

  citations(state) {
    return state.citations.map((name) => {
      const { title } = state.evidence.get(name);
      return button({ class: "citation", "aria-label": `Evidence ${name}: ${title}` }, () => this.actions.cite(name), `[${name}]`);
    });
  }

  restsOn(state) {
    if (state.answer.status !== "answered" && !state.guessShown) return "";
    const cited = state.citations.map((name) => `${state.evidence.get(name).title} (${state.evidence.get(name).source})`);
    const given = state.givenSteps.map((step) => `✎ ${yourAnswer}${step ? ` to step ${step}` : ""}`);
    return [...cited, ...given].join(", ");
  }

  totals(trace) {
    const asked = Object.entries(trace.totals.retrievals).filter(([, count]) => count).map(([name, count]) => `${name} ${count}`);
    return [
      `${trace.totals.seconds.toFixed(1)} s`, several(trace.totals.llm_calls, "model call"),
      asked.length ? `look-ups: ${asked.join(", ")}` : "no look-ups", `strategy ${trace.strategy}`,
      trace.left_machine.length ? "" : "nothing left the machine",
    ].filter(Boolean).join(" · ");
  }
}

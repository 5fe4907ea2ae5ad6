// The evidence of a step: what its answer rests on first, then how sure it is, then what else was found.

import { byId, button, field, link, make } from "./dom.js";
import { excerpt, marked } from "./marks.js";
import {
  actionText, checkText, computationText, correctionText, measuresText, methodText, misfit, notFound, originText, placeText,
  ratingMeans, ratingText, shortened, STATES, stepKind, stepName, sure, yourAnswer,
} from "./words.js";

const MOST_ROWS = 20;
const MOST_CANDIDATES = 20;
const LONGEST = 4000;

export class EvidencePane {
  /** @param actions what can be done from here: { goTo(step), edit(step), again(step), canCorrect(step) } */
  constructor(actions) {
    this.actions = actions;
    this.title = byId("evidence-title");
    this.body = byId("evidence-body");
    this.opened = new Set(); // what the user has unfolded, by its name
    this.key = "";
  }

  clear() {
    this.title.textContent = "Evidence";
    this.body.replaceChildren();
    this.opened.clear();
    this.key = "";
  }

  show(view, state) {
    const key = JSON.stringify([
      view.id, view.state, view.resolved, view.evidence, view.sources, view.declined, view.result, state.trace?.id, this.actions.canCorrect(view.id),
      view.evidence.map((name) => state.usersOf(name)),
    ]);
    if (key === this.key) return;
    this.key = key;
    const kind = stepKind(view);
    this.title.textContent = `Evidence · ${stepName(view.id)}${kind ? ` (${kind})` : ""}: ${shortened(view.resolved)}`;
    const kept = document.activeElement?.closest?.("#evidence-body [id]")?.id;
    this.body.replaceChildren(...this.parts(view, state));
    if (kept) byId(kept)?.focus();
  }

  /** Bring a piece of evidence into sight and go to it. */
  goTo(name) {
    const piece = byId(`piece-${name}`);
    if (!piece) return;
    piece.scrollIntoView({ block: "nearest" });
    piece.focus({ preventScroll: true });
  }

  parts(view, state) {
    const result = view.result;
    const own = result && !view.byUser;
    const cited = own ? result.cited : [];
    const known = [...new Set([...cited, ...view.evidence])].filter((name) => state.evidence.has(name));
    const first = known.filter((name) => cited.includes(name));
    const others = known.filter((name) => !cited.includes(name));
    const parts = [this.verdict(view, state), ...this.outcome(view, state), this.tools(view)];
    parts.push(...first.map((name) => this.piece(name, view, state, true)));
    if (result) parts.push(...this.story(result));
    for (const source of new Set(others.map((name) => state.evidence.get(name).source))) {
      parts.push(make("h4", {}, `${first.length ? "Also found" : "Found"}: ${shortened(source, 60)}`));
      for (const name of others) {
        if (state.evidence.get(name).source === source) parts.push(this.piece(name, view, state, false));
      }
    }
    if (!known.length && own && !result.observation) {
      parts.push(make("p", { class: "faint" }, "Nothing was looked up for this step itself."));
    }
    parts.push(this.details(view, state));
    return parts.filter(Boolean);
  }

  /** One line: how sure, how the answer came about, and what the check has found. */
  verdict(view, state) {
    const result = view.result;
    const line = (text, kind = "") => make("p", { class: `verdict ${kind}`.trim() }, text);
    if (!result) {
      const told = { waiting: "waits for the steps that it needs", stopped: "not finished: the question ended before" };
      return line(told[view.state] ?? STATES[view.state].word, "faint");
    }
    if (state.isStage(view)) return line("a step on the way: the ones after it go on from here", "faint");
    if (result.outcome === "not found") return line(`? ${notFound}${result.reason ? `: ${result.reason}` : ""}`, "lost");
    const taken = computationText(result.computation ?? "");
    const way = ["child", "sibling"].includes(result.method) && taken.startsWith("taken from") ? taken : result.method && methodText(result.method);
    if (view.byUser) return line(`✎ ${yourAnswer}${way ? ` · ${way}` : ""}`, "doubtful");
    const parts = [];
    if (view.declined) parts.push("⚠ declined as the answer to the question");
    else if (!result.answers.length) parts.push(`? ${notFound}`);
    else if (typeof result.confidence === "number") parts.push(sure(result.confidence));
    if (result.corrected_from !== null && result.corrected_from !== undefined) parts.push(`↻ ${correctionText(result.corrected_from)}`);
    if (way) parts.push(way);
    if (result.kept) parts.push("◆ kept from before");
    if (result.answers.length && result.signals.type_fit === 0) parts.push(`⚠ ${misfit}`);
    if (typeof result.supported === "boolean") parts.push(`${result.supported ? "✓" : "✗"} ${checkText(result)}`);
    return line(parts.join(" · "));
  }

  outcome(view, state) {
    const result = view.result;
    if (!result || state.isStage(view)) return [];
    const parts = [];
    if (result.outcome === "not found") {
      if (result.answers.length) parts.push(field("a guess, not an answer", result.answer));
    } else if (result.answers.length || result.outcome === "computed") {
      parts.push(field(view.byUser ? yourAnswer : "answer", make("b", { class: "answer" }, result.answer || "none")));
    }
    if (["symbolic", "computed"].includes(result.method) && result.computation) {
      parts.push(field("computed", computationText(result.computation)));
    }
    if (result.error) parts.push(field("error", `${result.error.title ?? ""}: ${result.error.message ?? ""}`, "problem"));
    return parts;
  }

  tools(view) {
    if (!this.actions.canCorrect(view.id)) return null;
    const name = view.id === 0 ? "the answer" : `step ${view.id}`;
    return make("div", { class: "buttons" },
      button({ id: "edit-step", "aria-label": `Edit step: ${name}` }, () => this.actions.edit(view.id), "Edit step"),
      button({ id: "again-step", "aria-label": `Run again: ${name}` }, () => this.actions.again(view.id), "Run again"));
  }

  /** What the step thought, did, saw and weighed. */
  story(result) {
    const parts = [];
    const corrected = result.corrected_from !== null && result.corrected_from !== undefined && !result.answers.length;
    if (corrected && result.thought) {
      parts.push(field("corrected", shortened(result.thought, 1000)));
      if (result.corrected_from) parts.push(field("first written", make("s", {}, shortened(result.corrected_from, 1000))));
    } else if (result.thought) parts.push(field("thought", shortened(result.thought, 600)));
    if (result.action) parts.push(field("action", actionText(result.action)));
    if (result.observation) {
      const left = result.observation.length - LONGEST;
      parts.push(this.fold("observation", `observation: ${shortened(result.observation, 100)}`,
        make("p", { class: "text" }, result.observation.slice(0, LONGEST), left > 0 ? ` … and ${left.toLocaleString("en")} more characters` : "")));
    }
    if (result.candidates.length) {
      const rows = result.candidates.slice(0, MOST_CANDIDATES).map((item) => [
        shortened(String(item.answer ?? "")), ratingText(item.score), originText(String(item.origin ?? "")), (item.evidence ?? []).join(", ") || "–",
      ]);
      parts.push(this.fold("weighed", `answers weighed: ${result.candidates.length}`,
        this.table("Answers weighed", ["answer", "rating", "from", "evidence"], rows, result.candidates.length),
        make("p", { class: "faint" }, `rating: ${ratingMeans}`)));
    }
    return parts;
  }

  piece(name, view, state, isCited) {
    const item = state.evidence.get(name);
    const answers = view.result?.answers ?? [];
    const locator = item.locator ?? {};
    const users = state.usersOf(name).filter((user) => user !== view.id);
    const place = placeText(locator);
    const short = excerpt(item.text, answers);
    const parts = [
      make("p", { class: "head" }, make("b", { class: "name" }, `[${name}] `), make("b", {}, shortened(item.title)),
        make("span", { class: "faint" }, ` · ${shortened(item.source, 60)}${place ? ` · ${place}` : ""}`)),
      make("p", { class: "text" }, marked(short || item.text, answers)),
    ];
    if (short) parts.push(this.fold(`whole ${name}`, "the whole passage", make("p", { class: "text" }, marked(item.text, answers))));
    if (locator.url) {
      parts.push(make("p", { class: "faint" }, link(String(locator.url), shortened(String(locator.url))),
        locator.retrieved_at ? `, retrieved ${shortened(String(locator.retrieved_at), 40)}` : ""));
    }
    if (locator.sparql) {
      parts.push(this.fold(`query ${name}`, `asked the graph for: ${shortened(item.query)}`,
        this.scrolled(`Query of ${name}`, make("pre", {}, String(locator.sparql).slice(0, LONGEST))),
        this.rows(name, locator.rows)));
    } else if (item.query) parts.push(make("p", { class: "faint" }, `asked for: ${shortened(item.query)}`));
    if (users.length) {
      parts.push(make("p", { class: "faint" }, "also used by ", users.map((user, place_) => [
        place_ ? ", " : "", button({ class: "plain" }, () => this.actions.goTo(user), user === 0 ? "the answer" : `step ${user}`),
      ])));
    }
    return make("article", { class: isCited ? "piece cited" : "piece", id: `piece-${name}`, tabindex: "-1", "aria-label": `Evidence ${name}: ${shortened(item.title)}` }, parts);
  }

  /** The rows of a graph query as a table; null if it has none. */
  rows(name, rows) {
    const kept = Array.isArray(rows) ? rows.filter((row) => row && typeof row === "object") : [];
    const names = [...new Set(kept.flatMap((row) => Object.keys(row)))];
    if (!names.length) return null;
    return this.table(`Rows of ${name}`, names, kept.map((row) => names.map((column) => String(row[column] ?? ""))), kept.length);
  }

  table(title, names, rows, count) {
    const shown = rows.slice(0, MOST_ROWS);
    const left = count - shown.length;
    return [
      this.scrolled(title, make("table", {},
        make("caption", { class: "unseen" }, title),
        make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, shown.map((row) => make("tr", {}, row.map((value) => make("td", {}, shortened(value)))))))),
      left > 0 ? make("p", { class: "faint" }, `… and ${left.toLocaleString("en")} more`) : null,
    ];
  }

  /** Something wide, which the keyboard can scroll too. */
  scrolled(title, content) {
    return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": title }, content);
  }

  fold(name, head, ...body) {
    const made = make("details", { open: this.opened.has(name) }, make("summary", { id: `fold-${name.replace(/[^\w]+/g, "-")}` }, head), ...body);
    made.addEventListener("toggle", () => (made.open ? this.opened.add(name) : this.opened.delete(name)));
    return made;
  }

  details(view, state) {
    const result = view.result;
    const parts = [make("p", {}, make("b", {}, view.question))];
    if (view.id === 0 && state.question.trim() !== view.question) parts.push(field("asked as", state.question));
    if (view.resolved !== view.question) parts.push(field("filled in", view.resolved));
    if (view.sources.length) parts.push(field("sources", view.sources.join(", ") + (view.sourceReason ? ` (${view.sourceReason})` : "")));
    if (result) {
      if (result.computation) parts.push(field("worked out", computationText(result.computation)));
      const measured = measuresText(result.signals);
      if (measured) parts.push(field("measured", measured));
      for (const note of result.dropped) parts.push(field("note", computationText(note)));
      parts.push(field("time", `${result.seconds.toFixed(1)} s`));
    }
    return this.fold("details", "details", ...parts);
  }
}

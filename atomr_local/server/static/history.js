// The questions that were kept: searched, opened, deleted.

import { get, remove } from "./calls.js";
import { byId, button, make, open } from "./dom.js";
import { several, shortened, level, notFound } from "./words.js";

const PAGE = 50;
const TRACE = /^[0-9a-f]{32}$/; // the id of a trace

export class HistoryList {
  /** @param opened takes the trace that the user chose */
  constructor(opened) {
    this.opened = opened;
    this.before = null;
    this.search = "";
    this.request = null;
    byId("open-history").addEventListener("click", () => this.show());
    byId("history-more").addEventListener("click", () => this.load(true));
    byId("history-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const given = byId("history-search").value.trim();
      if (TRACE.test(given)) {
        this.choose(given);
        return;
      }
      this.search = given;
      this.load();
    });
    byId("history-dialog").addEventListener("close", () => this.request?.abort());
  }

  show() {
    open(byId("history-dialog"));
    byId("history-search").focus();
    return this.load();
  }

  /** List the first questions, or the next ones too. */
  async load(more = false) {
    this.request?.abort();
    const request = new AbortController();
    this.request = request;
    const told = byId("history-told");
    const list = byId("history-list");
    const asked = new URLSearchParams({ limit: String(PAGE) });
    if (this.search) asked.set("search", this.search);
    if (more && this.before !== null) asked.set("before", String(this.before));
    let found;
    try {
      found = (await get(`/api/traces?${asked}`, request.signal)).traces;
    } catch (error) {
      if (error.name === "AbortError") return;
      list.replaceChildren();
      told.textContent = [error.message, error.hint].filter(Boolean).join(" ");
      return;
    }
    const lines = found.map((item) => this.line(item));
    const focus = more && lines.length ? lines[0].querySelector("button") : null;
    if (more) list.append(...lines);
    else list.replaceChildren(...lines);
    this.before = found.length ? found.at(-1).number : null;
    byId("history-more").hidden = found.length < PAGE;
    this.tell();
    focus?.focus();
  }

  tell() {
    const count = byId("history-list").children.length;
    const nothing = this.search ? "No kept question has these words." : "No question is kept yet.";
    byId("history-told").textContent = count ? `${several(count, "question")} shown, the latest first` : nothing;
  }

  line(item) {
    const how = item.status === "unknown" ? notFound : item.status === "answered" && typeof item.confidence === "number" ? level(item.confidence).word : item.status;
    const when = new Date(item.asked_at);
    const told = [Number.isNaN(when.valueOf()) ? "" : when.toLocaleString(), item.strategy, how].filter(Boolean).join(" · ");
    const question = shortened(item.question);
    const line = make("li", {},
      button({ class: "entry" }, () => this.choose(item.number), make("span", {}, question),
        item.answer ? make("b", { class: item.status === "answered" ? "answer" : "lost" }, ` ${shortened(item.answer)}`) : ""),
      make("span", { class: "faint" }, told),
      button({ class: "delete", "aria-label": `Delete: ${question}` }, (event) => this.forget(item, line, event.currentTarget), "Delete"));
    return line;
  }

  /** Open a question by its number, or a trace by its id. */
  async choose(name) {
    try {
      this.opened(await get(`/api/traces/${name}`));
      byId("history-dialog").close();
    } catch (error) {
      byId("history-told").textContent = error.message;
    }
  }

  /** Delete it at the second press: the first asks. */
  async forget(item, line, pressed) {
    if (!pressed.dataset.asked) {
      pressed.dataset.asked = "yes";
      pressed.textContent = "Delete for good?";
      pressed.setAttribute("aria-label", `Delete for good? ${shortened(item.question)}`);
      return;
    }
    try {
      await remove(`/api/traces/${item.number}`);
    } catch (error) {
      byId("history-told").textContent = error.message;
      return;
    }
    const next = (line.nextElementSibling ?? line.previousElementSibling)?.querySelector("button") ?? byId("history-search");
    line.remove();
    this.tell();
    next.focus();
  }
}

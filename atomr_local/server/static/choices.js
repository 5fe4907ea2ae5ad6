// What the next question may use: sources, strategy, whether it is kept; and the indexes that there are.

import { get } from "./calls.js";
import { byId, make } from "./dom.js";
import { several } from "./words.js";

const POLL = 1500;

/** Waits until the page is seen: one in the background asks for nothing. */
async function seen() {
  while (document.hidden) {
    await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

/** A switch: a checkbox with its name. */
export function sourceSwitch(name, on) {
  const box = make("input", { type: "checkbox", name: "source", value: name, checked: on });
  return make("label", { class: "inline" }, box, ` ${name === "web" ? "web (queries leave this machine)" : name}`);
}

/** Names of the sources that are switched on. */
export const switchedOn = (place) => [...place.querySelectorAll("input:checked")].map((box) => box.value);

export class Choices {
  /**
   * @param failed takes an error of loading them
   * @param changed called when what is offered is known
   */
  constructor(failed, changed) {
    this.changed = changed;
    this.failed = failed;
    this.server = null;
    byId("strategy").addEventListener("change", () => this.showSummary());
    byId("more").addEventListener("toggle", () => byId("more").open && this.loadIndexes());
  }

  /** Load what the server offers, and tell while the model is being loaded. */
  async load() {
    try {
      this.show(await get("/api/server"));
    } catch (error) {
      this.failed(error);
      return;
    }
    while (!this.server.loaded) {
      byId("model").textContent = `${this.server.model}: loading model`;
      await new Promise((resolve) => setTimeout(resolve, POLL));
      await seen();
      try {
        this.server = await get("/api/server");
      } catch {
        return; // the next question tells
      }
    }
    byId("model").textContent = this.server.model;
  }

  show(server) {
    const again = this.server !== null;
    this.server = server;
    byId("model").textContent = server.model;
    byId("where").textContent = server.web
      ? "Web search is on unless you switch it off: then words of your question go to a search engine."
      : "Web search is off: the server looks your question up in its own indexes only.";
    byId("keep-choice").hidden = !server.keeps;
    this.changed();
    if (again) return;
    byId("sources").replaceChildren(...server.sources.map((name) => sourceSwitch(name, true)), ...(server.web ? [sourceSwitch("web", true)] : []));
    byId("strategy").replaceChildren(...server.strategies.map((item) => make("option", { value: item.name, selected: item.name === server.strategy }, item.name)));
    this.showSummary();
  }

  showSummary() {
    const chosen = this.server?.strategies.find((item) => item.name === byId("strategy").value);
    byId("strategy-summary").textContent = chosen ? `${chosen.name}: ${chosen.summary}` : "";
  }

  /** Whether answers of this strategy can be corrected. */
  revises(strategy) {
    return Boolean(this.server?.strategies.find((item) => item.name === strategy)?.revises);
  }

  /** The part of a question's body that is chosen here. */
  get body() {
    const within = [...byId("within").value.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] || found[2]).filter(Boolean);
    const part = within.length ? { in: within } : {};
    if (!this.server) return part;
    const on = switchedOn(byId("sources"));
    return {
      ...part, sources: on.filter((name) => name !== "web"), ...(this.server.web ? { web: on.includes("web") } : {}),
      ...(this.server.keeps ? { keep: byId("keep").checked } : {}),
    };
  }

  async loadIndexes() {
    const list = byId("indexes");
    let found;
    try {
      found = (await get("/api/indexes")).indexes;
    } catch (error) {
      list.replaceChildren(make("li", {}, error.message));
      return;
    }
    list.replaceChildren(...(found.length ? found.map(indexLine) : [make("li", {}, "No index is built.")]));
  }
}

function indexLine(index) {
  const counts = Object.entries(index.counts).slice(0, 3).map(([what, count]) => `${count.toLocaleString("en")} ${what}`);
  const marks = [index.used ? "in use" : "not in use", index.private ? "private" : "", index.usable ? "" : "damaged"].filter(Boolean);
  return make("li", {}, make("b", {}, `${index.kind} ${index.name}`), ` (${marks.join(", ")})${counts.length ? `: ${counts.join(", ")}` : ""}`);
}

export const toldQueue = (ahead) => (ahead ? `Waiting: ${several(ahead, "question")} before this one` : "Waiting for its turn");

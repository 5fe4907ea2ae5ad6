// The dialogs that correct an answer: one step, or the plan as text.

import { byId, make, open } from "./dom.js";
import { sourceSwitch, switchedOn } from "./choices.js";
import { stepName } from "./words.js";

const LOOKS_UP = ["search", "relate", "filter", "direct", "root"];

/** The line of a step in a plan in compact notation; null if it has none. */
export function lineOf(compact, step) {
  const found = compact.split("\n").find((line) => numberOf(line) === step);
  return found === undefined ? null : found.trim().replace(/^\d+\. +/, "");
}

/** The plan with another line for a step. */
export function withLine(compact, step, text) {
  const told = text.replace(/\s+/g, " ").trim();
  return compact.split("\n").map((line) => (numberOf(line) === step ? `${/^ */.exec(line)[0]}${step}. ${told}` : line)).join("\n");
}

const numberOf = (line) => Number(/^ *(\d+)\. /.exec(line)?.[1] ?? -1);

export class Corrections {
  /** @param run asks the question again with what was changed: a promise that ends once the server has taken it */
  constructor(run) {
    this.run = run;
    this.state = null;
    this.step = 0;
    byId("step-form").addEventListener("submit", (event) => this.submitted(event, "step", () => this.ofStep()));
    byId("plan-form").addEventListener("submit", (event) => this.submitted(event, "plan", () => ({ plan: byId("plan-text").value })));
    for (const name of ["step-answers", "step-line", "plan-text"]) {
      byId(name).addEventListener("keydown", (event) => {
        const sends = event.key === "Enter" && (event.ctrlKey || event.metaKey);
        if (!sends) return;
        event.preventDefault();
        event.target.form.requestSubmit();
      });
    }
  }

  editStep(state, step) {
    const view = state.nodes.get(step);
    const line = lineOf(state.compact, step);
    this.state = state;
    this.step = step;
    byId("step-title").textContent = step === 0 ? "Edit step: the answer" : `Edit step ${step}`;
    byId("step-question").textContent = view.resolved;
    byId("step-now").textContent = view.result?.answers.length ? `Now: ${view.result.answer}` : "Now: no answer";
    byId("step-answers").value = "";
    byId("step-line").value = line ?? "";
    this.line = line;
    const { settings } = state.trace;
    const possible = [...(settings.sources ?? []), ...(settings.web ? ["web"] : [])];
    byId("step-sources-field").hidden = !LOOKS_UP.includes(view.kind) || possible.length < 2;
    byId("step-sources").replaceChildren(...possible.map((name) => sourceSwitch(name, true)));
    byId("step-problem").textContent = "";
    open(byId("step-dialog"));
    byId("step-answers").focus();
  }

  editPlan(state) {
    this.state = state;
    byId("plan-text").value = state.compact;
    byId("plan-problem").textContent = "";
    open(byId("plan-dialog"));
    byId("plan-text").focus();
  }

  /** Run the step again, with nothing changed. */
  again(state, step) {
    return this.run(state, { revision: { rerun: [step] } });
  }

  /** What the dialog about a step asks for; a text where that cannot be done. */
  ofStep() {
    const name = String(this.step);
    const answers = byId("step-answers").value.split("\n").map((line) => line.trim()).filter(Boolean);
    const line = byId("step-line").value.trim();
    const boxes = byId("step-sources-field").hidden ? [] : [...byId("step-sources").querySelectorAll("input")];
    const on = switchedOn(byId("step-sources"));
    const revision = {};
    const changes = { revision };
    if (answers.length) revision.answers = { [name]: answers };
    if (boxes.length && on.length < boxes.length) {
      if (!on.length) return "Switch on at least one source, or give an answer of your own.";
      revision.sources = { [name]: on };
    }
    if (this.line !== null && line.replace(/\s+/g, " ") !== this.line.trim()) {
      if (!line) return `${stepName(this.step)} needs a question.`;
      changes.plan = withLine(this.state.compact, this.step, line);
    }
    if (!revision.answers) revision.rerun = [this.step];
    return changes;
  }

  async submitted(event, name, wanted) {
    event.preventDefault();
    const problem = byId(`${name}-problem`);
    const changes = wanted();
    if (typeof changes === "string") {
      problem.textContent = changes;
      return;
    }
    problem.textContent = "";
    try {
      await this.run(this.state, changes);
      byId(`${name}-dialog`).close();
    } catch (error) {
      problem.replaceChildren(make("span", {}, error.message), error.hint ? ` ${error.hint}` : "");
    }
  }
}

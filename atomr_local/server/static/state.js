// The state of one question: the sum of its events, or what its trace holds. The views on the page hold none of it.
// Events and traces are kept as they come: a new field of a step is named only where it is shown.

import { takenFrom } from "./words.js";

/** A step as it is shown; `step` has the names of a trace's node, and `result` those of its end. */
function viewOf(step) {
  return {
    kind: "step", operation: null, label: "", sources: [], ...step, resolved: step.resolved_question || step.question,
    state: "waiting", sourceReason: "", evidence: [], result: null, byUser: false, declined: false,
  };
}

const sameAnswers = (one, other) => {
  const key = (result) => result.answers.map((answer) => answer.trim().toLowerCase()).sort().join("\n");
  return one.answers.length > 0 && key(one) === key(other);
};

export class Question {
  constructor(question = "") {
    this.question = question;
    this.strategy = "";
    this.understood = "";
    this.stage = "";
    this.ahead = null; // questions that wait before this one
    this.draft = "";
    this.draftEnded = false;
    this.origin = "";
    this.planFailed = false; // a strategy that makes no plan tries none
    this.compact = "";
    this.nodes = new Map();
    this.evidence = new Map();
    this.warnings = [];
    this.departures = [];
    this.answer = null;
    this.stopped = ""; // why the server stopped the question
    this.guessShown = false;
    this.running = true;
    this.trace = null;
  }

  /** The question as its trace has it. */
  static of(trace) {
    const made = new Question(trace.question);
    made.strategy = trace.strategy;
    for (const step of trace.nodes) made.nodes.set(step.id, viewOf(step));
    for (const item of trace.evidence) made.evidence.set(item.id, item);
    for (const step of trace.nodes) {
      const ended = step.outcome || step.method || step.answers.length || step.error || step.thought || step.action;
      if (ended) made.ended(made.nodes.get(step.id), step);
    }
    made.answer = trace;
    made.finish(trace);
    return made;
  }

  get root() {
    return this.nodes.get(0) ?? null;
  }

  /** Ids of the pieces that the answer cites, or the guess where that is shown. */
  get citations() {
    const result = this.root?.result;
    if (!result || !this.answer || (this.answer.status !== "answered" && !this.guessShown)) return [];
    return result.cited.filter((name) => this.evidence.has(name));
  }

  /** Those of the passages whose evidence is there. */
  known(passages) {
    return (passages ?? []).filter((item) => this.evidence.has(item.evidence));
  }

  /** The pieces that the answer quotes, or that come closest to a question without one, each with its spans. */
  get passages() {
    const root = this.root?.result;
    if (!this.answer || !["answered", "unknown"].includes(this.answer.status)) return [];
    if (this.answer.status === "unknown") return this.known(this.answer.closest);
    const all = [...this.nodes.values()].flatMap((view) => view.result?.quotes ?? []);
    const own = root?.quotes ?? [];
    const spans = new Map();
    for (const { evidence, span } of own.length ? own : all.filter((quote) => root?.cited.includes(quote.evidence))) {
      if (this.evidence.has(evidence)) spans.set(evidence, [...(spans.get(evidence) ?? []), span]);
    }
    return [...spans].map(([evidence, found]) => ({ evidence, spans: found }));
  }

  /** The steps whose answers the user gave. */
  get givenSteps() {
    return [...this.nodes.values()].filter(isGiven).map((view) => view.id);
  }

  /** Numbers of the steps that have this piece of evidence. */
  usersOf(name) {
    return [...this.nodes.values()].filter((view) => view.evidence.includes(name)).map((view) => view.id).sort((a, b) => a - b);
  }

  /** Whether the step has ended as it should without an answer of its own: a thought, a sentence, the use of a tool. */
  isStage(view) {
    const result = view.result;
    if (!result || result.answers.length || result.error || result.candidates.length) return false;
    const said = result.thought || result.observation || !view.question.trimEnd().endsWith("?");
    return Boolean(result.action || (view.label && said));
  }

  apply(event) {
    const view = this.nodes.get(event.node_id);
    switch (event.event) {
      case "queued":
        this.ahead = event.ahead;
        break;
      case "question_asked":
        this.question = event.question;
        this.strategy = event.strategy;
        this.ahead = null;
        break;
      case "stage_changed":
        this.stage = event.stage;
        break;
      case "question_understood":
        this.understood = event.understood_as;
        break;
      case "plan_fragment":
        this.draft = this.draftEnded ? event.text : this.draft + event.text;
        this.draftEnded = false;
        break;
      case "model_called":
        this.draftEnded = true;
        break;
      case "plan_ready":
        this.understood = event.question;
        this.planned(event);
        this.draft = "";
        this.nodes.clear();
        for (const step of event.nodes) this.nodes.set(step.id, viewOf(step));
        break;
      case "node_added":
        if (this.nodes.has(event.parent) && !view) {
          this.nodes.set(event.node_id, viewOf({ ...event, id: event.node_id, kind: "step" }));
        }
        break;
      case "warning_raised":
        this.warnings.push(event.message);
        break;
      case "leaves_machine":
        this.departures.push(event);
        break;
      case "answer_ready":
        this.answer = event;
        this.tellDeclined();
        break;
      case "stopped":
        this.stopped = event.reason;
        break;
      case "finished":
        this.finish(event.trace);
        break;
      default:
        if (view) this.applyToStep(view, event);
    }
  }

  applyToStep(view, event) {
    switch (event.event) {
      case "node_started":
        view.state = "reasoning";
        view.resolved = event.resolved_question || view.question;
        break;
      case "sources_selected":
        view.sources = event.sources;
        view.sourceReason = event.reason;
        break;
      case "retrieval_started":
        view.state = "retrieving";
        break;
      case "evidence_found":
        view.state = "reasoning";
        for (const item of event.evidence) {
          this.evidence.set(item.id, item);
          if (!view.evidence.includes(item.id)) view.evidence.push(item.id);
        }
        break;
      case "node_judged":
        if (view.result) this.ended(view, { ...view.result, ...event });
        break;
      case "node_finished":
        this.ended(view, event);
        break;
      default:
    }
  }

  /** A step has its result. */
  ended(view, result) {
    view.result = result;
    view.evidence = [...new Set(result.evidence)].filter((name) => this.evidence.has(name));
    const source = this.nodes.get(takenFrom(result.computation));
    view.byUser = isGiven(view) || Boolean(result.answers.length && !result.cited.length && source && source !== view && source.byUser);
    view.state = this.endState(view);
  }

  endState(view) {
    const result = view.result;
    if (result.error) return result.answers.length ? "found" : "failed";
    if (this.isStage(view)) return "found";
    if (result.outcome === "not found" || !(result.answers.length || result.outcome)) return "unknown";
    if (view.byUser) return "given";
    if (result.kept) return "kept";
    return { computed: "computed", memory: "memory" }[result.outcome] ?? "found";
  }

  /** Mark the steps with whose answer the whole question was declined. */
  tellDeclined() {
    const root = this.root;
    for (const view of this.nodes.values()) {
      view.declined = this.answer.status === "unknown" && view !== root && Boolean(root?.result && view.result && sameAnswers(root.result, view.result));
    }
  }

  /** Takes what a plan says of itself: that of an event or of a trace. */
  planned(plan) {
    this.origin = plan.origin;
    this.compact = plan.compact;
    this.planFailed = plan.origin === "fallback" && plan.attempts > 0;
  }

  finish(trace) {
    this.trace = trace;
    this.planned(trace.plan);
    this.understood = trace.understood_as;
    this.warnings = trace.warnings;
    this.departures = trace.left_machine;
    this.end();
    if (this.answer) this.tellDeclined();
  }

  /** Nothing more comes. */
  end() {
    this.running = false;
    this.stage = "";
    this.draft = "";
    for (const view of this.nodes.values()) if (!view.result) view.state = "stopped";
  }
}

function isGiven(view) {
  return Boolean(view.result && view.result.method === null && view.result.answers.length);
}

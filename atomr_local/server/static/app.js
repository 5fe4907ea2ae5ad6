// The page: one question at a time, in a conversation, with its tree, its evidence and its answer.

import { AnswerPane, inShort, statusWord } from "./answer.js";
import { ask, CallError, get, getText } from "./calls.js";
import { Choices, toldQueue } from "./choices.js";
import { Corrections } from "./correct.js";
import { byId, button, make } from "./dom.js";
import { EvidencePane } from "./evidence.js";
import { HistoryList } from "./history.js";
import { Question } from "./state.js";
import { prepareToken } from "./token.js";
import { Tree } from "./tree.js";
import { capitalised, shortened, stepName } from "./words.js";

const NARROW = "(max-width: 56rem)"; // the panes lie one below the other
const MOST_EARLIER = 20; // traces of a conversation that the server takes
const SPEAK_EVERY = 900; // milliseconds: screen readers are not flooded
const COUNTS = ["answered", "unknown"]; // how a question ends that a later one may refer to

let state = null; // the question that is shown
let wanted = null; // the step to go back to once a corrected plan is there
let running = null; // { controller } of the one that runs
let turns = []; // traces of the conversation, oldest first

const BUSY = "A question is being answered.";

// What is spoken, and shown as the line of progress.

let spoken = 0;
let speaking = 0;

/** Show a line of progress; those that follow one another fast are passed over but for the last. */
function tell(text, now = false) {
  clearTimeout(speaking);
  const wait = now ? 0 : Math.max(0, spoken + SPEAK_EVERY - performance.now());
  speaking = setTimeout(() => {
    spoken = performance.now();
    if (byId("progress").textContent !== text) byId("progress").textContent = text;
  }, wait);
}

function showError(error, again = null) {
  const parts = [make("p", {}, make("b", {}, `${error.title ?? "Error"}: `), error.message)];
  if (error.hint) parts.push(make("p", {}, error.hint));
  if (error.retryAfter) parts.push(make("p", {}, `The server expects to have room in ${error.retryAfter} s.`));
  const repeat = again ? button({}, again, "Try again") : null;
  parts.push(make("p", { class: "buttons" }, repeat, button({}, () => {
    hideError();
    byId("question").focus();
  }, "Close")));
  byId("error").replaceChildren(...parts);
}

const hideError = () => byId("error").replaceChildren();

// The panes.

const evidence = new EvidencePane({ goTo: (step) => choose(step, true), edit, again, canCorrect });
const answer = new AnswerPane({ cite, guess });
const tree = new Tree(byId("tree"), (step) => choose(step), {
  open: () => {
    byId("evidence-title").scrollIntoView({ block: "nearest" });
    byId("evidence-title").focus({ preventScroll: true });
  },
  edit,
  again,
  clicked: () => {
    if (window.matchMedia(NARROW).matches) byId("evidence").scrollIntoView({ block: "nearest" });
  },
});
const choices = new Choices(showError, draw);
const corrections = new Corrections(runCorrected);
new HistoryList(openTrace);
prepareToken();

let drawing = false;

/** Draw the state before the next frame; events that come together are drawn together. */
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    drawNow();
  });
}

function drawNow() {
  const shown = state !== null;
  byId("welcome").hidden = shown;
  byId("asked").hidden = !shown;
  byId("new-conversation").disabled = !shown && !turns.length;
  showTurns();
  if (!shown) return;
  byId("asked-question").textContent = state.question;
  const understood = state.understood && state.understood.trim() !== state.question.trim() ? `Understood as: ${state.understood}` : "";
  byId("understood").textContent = understood;
  byId("understood").hidden = !understood;
  byId("draft").hidden = !state.draft;
  byId("draft").textContent = state.draft;
  tree.show(state);
  if (wanted !== null && state.nodes.has(wanted)) {
    tree.select(wanted);
    wanted = null;
  }
  byId("tree-help").hidden = state.nodes.size === 0;
  const view = state.nodes.get(tree.selected);
  if (view) evidence.show(view, state);
  else {
    evidence.clear();
    const text = state.running ? "The question is being broken down into steps." : "No steps.";
    byId("evidence-body").replaceChildren(make("p", { class: "faint" }, text));
  }
  answer.show(state);
  byId("answer-tools").hidden = !state.trace;
  byId("edit-plan").hidden = !canCorrect();
}

function showTurns() {
  const earlier = turns.filter((trace) => trace.id !== state?.trace?.id);
  byId("conversation").hidden = !earlier.length;
  byId("turns").replaceChildren(...turns.map((trace) => {
    const line = make("li", { "aria-current": trace.id === state?.trace?.id ? "true" : null },
      button({ class: "entry" }, () => running || show(Question.of(trace), true), make("span", {}, shortened(trace.question)),
        make("b", { class: trace.status === "answered" ? "answer" : "lost" }, ` ${shortened(inShort(trace))}`)),
      trace.status === "answered" ? make("span", { class: "faint" }, ` ${statusWord(trace)}`) : "");
    return line;
  }));
}

/** Show a question that has ended. */
function show(question, focus = false) {
  state = question;
  tree.clear();
  evidence.clear();
  drawNow();
  history.replaceState(null, "", state.trace?.id ? `#trace=${state.trace.id}` : location.pathname);
  if (focus) byId("asked-question").focus();
}

function choose(step, focus = false) {
  tree.select(step, focus);
  const view = state?.nodes.get(step);
  if (view) evidence.show(view, state);
}

/** Go to a piece of evidence, under the answer if it rests there. */
function cite(name) {
  choose(state.usersOf(name)[0] ?? 0);
  evidence.goTo(name);
}

function guess() {
  state.guessShown = !state.guessShown;
  drawNow();
  byId("guess")?.focus();
}

// Asking.

function setRunning(now) {
  const had = document.activeElement;
  running = now;
  byId("stop").hidden = !now;
  byId("submit").hidden = Boolean(now);
  byId("ask").setAttribute("aria-busy", String(Boolean(now)));
  if (had === byId("submit")) byId("stop").focus();
  else if (had === byId("stop")) byId("question").focus();
}

/**
 * Ask: a promise that ends once the server has taken the question; its events go on coming.
 * @param place of the turn that this one corrects; null for a new turn
 * @param step to go to once the plan is there
 */
async function begin(body, question, place = null, step = null) {
  const controller = new AbortController();
  setRunning({ controller });
  hideError();
  tell("Asking", true);
  let events;
  try {
    events = await ask(body, controller.signal);
  } catch (error) {
    setRunning(null);
    tell("", true);
    if (error.name !== "AbortError") throw error;
    return;
  }
  const asked = new Question(question);
  state = asked;
  wanted = step;
  tree.clear();
  evidence.clear();
  drawNow();
  if (window.matchMedia(NARROW).matches) byId("progress").scrollIntoView({ block: "start" });
  follow(asked, events, place);
}

async function follow(asked, events, place) {
  const done = { ended: false };
  try {
    for await (const event of events) {
      if (event.event === "error") throw new CallError(event.error);
      asked.apply(event);
      speak(asked, event);
      done.ended ||= event.event === "finished";
      if (asked === state) draw();
    }
    if (!done.ended) throw new CallError({ title: "Not finished", message: "The server ended before the answer was there." });
    keep(asked.trace, place);
  } catch (error) {
    asked.end();
    if (error.name === "AbortError") tell("Stopped.", true);
    else {
      tell("", true);
      showError(error instanceof CallError ? error : { title: "Error", message: "An error in the page." });
      if (!(error instanceof CallError)) console.error(error);
    }
  }
  setRunning(null);
  drawNow();
}

function speak(asked, event) {
  switch (event.event) {
    case "queued":
      return tell(toldQueue(event.ahead));
    case "stage_changed":
      return tell(capitalised(event.stage));
    case "plan_ready":
      return tell(`Plan: ${event.nodes.length - 1 || 1} ${event.nodes.length > 2 ? "steps" : "step"}`);
    case "retrieval_started":
      return tell(`${stepName(event.node_id)}: looks in ${event.source}`);
    case "node_finished":
      return event.node_id === 0 ? undefined : tell(`${stepName(event.node_id)}: ${shortened(event.answer, 120) || "no answer"}`);
    case "finished": {
      const told = `${shortened(inShort(asked.trace), 300)} (${statusWord(asked.trace)})`;
      return tell(asked.trace.status === "answered" ? `Answer: ${told}` : capitalised(statusWord(asked.trace)), true);
    }
    default:
      return undefined;
  }
}

/** Put a question that has ended among those of the conversation. */
function keep(trace, place) {
  if (place === null) turns.push(trace);
  else if (COUNTS.includes(trace.status) || !COUNTS.includes(turns[place].status)) turns[place] = trace;
  history.replaceState(null, "", `#trace=${trace.id}`);
}

/** Ids of the traces that a question at this place may refer to. */
const before = (place) => turns.slice(0, place).filter((trace) => trace.id && COUNTS.includes(trace.status)).map((trace) => trace.id).slice(-MOST_EARLIER);

async function submit() {
  const question = byId("question").value.trim();
  if (running) {
    tell(`${BUSY} Escape stops it.`, true);
    return;
  }
  if (!question) {
    byId("question").focus();
    return;
  }
  const earlier = before(turns.length);
  const body = { question, strategy: byId("strategy").value || null, ...choices.body, ...(earlier.length ? { earlier } : {}) };
  try {
    await begin(body, question);
    byId("question").select();
  } catch (error) {
    showError(error, [0, 429, 503].includes(error.status) ? submit : null);
  }
}

function stop() {
  running?.controller.abort();
}

// Correcting.

/** Whether the answer has a plan, and this step is in it. */
function canCorrect(step = 0) {
  if (!state?.trace || running || state.trace.plan.origin === "steps" || !state.trace.plan.compact) return false;
  const view = state.nodes.get(step);
  return Boolean(view) && view.kind !== "step" && choices.revises(state.strategy);
}

function edit(step) {
  if (canCorrect(step)) corrections.editStep(state, step);
  else tell(whyNot(), true);
}

async function again(step) {
  if (!canCorrect(step)) {
    tell(whyNot(), true);
    return;
  }
  try {
    await corrections.again(state, step);
  } catch (error) {
    showError(error);
  }
}

function whyNot() {
  if (running) return `${BUSY} Escape stops it.`;
  if (!state?.trace) return "The question did not come to its end.";
  return "This step is not in a plan that can be edited. Ask the question again.";
}

/** Ask the question of a trace again with corrections. */
async function runCorrected(of, changes) {
  const { trace } = of;
  const found = turns.findIndex((turn) => turn.id === trace.id);
  const place = found < 0 ? turns.length : found;
  const earlier = before(place);
  const follows = Boolean(trace.conversation || trace.took_from.length) && earlier.length;
  const chosen = choices.body;
  const selected = tree.selected;
  await begin({
    question: trace.question, strategy: trace.strategy, sources: trace.settings.sources,
    ...("web" in chosen ? { web: Boolean(trace.settings.web) } : {}), ...("keep" in chosen ? { keep: chosen.keep } : {}),
    revision: { trace: trace.id, ...changes.revision }, ...(changes.plan ? { plan: changes.plan } : {}),
    ...(follows ? { earlier, understood: trace.understood_as || trace.question } : {}),
  }, trace.question, found < 0 ? null : found, selected);
}

// Conversations and traces.

function newConversation() {
  stop();
  turns = [];
  state = null;
  hideError();
  tell("", true);
  tree.clear();
  evidence.clear();
  history.replaceState(null, "", location.pathname);
  drawNow();
  byId("question").value = "";
  byId("question").focus();
}

/** Show a trace out of the history; the next question continues from it. */
function openTrace(trace) {
  stop();
  turns = [trace];
  tell("", true);
  show(Question.of(trace), true);
}

async function openAddress() {
  const [, name, piece] = /^#trace=([0-9A-Za-z]{1,64})(?:&evidence=([0-9A-Za-z]{1,16}))?$/.exec(location.hash) ?? [];
  if (!name || running) return;
  try {
    if (name !== state?.trace?.id) openTrace(await get(`/api/traces/${name}`));
    if (piece && state.evidence.has(piece)) cite(piece);
  } catch (error) {
    showError(error);
  }
}

async function save(form) {
  const name = encodeURIComponent(state.trace.id);
  const markdown = form === "markdown";
  try {
    const text = markdown ? await getText(`/api/traces/${name}?format=markdown`) : JSON.stringify(state.trace, null, 2);
    const address = URL.createObjectURL(new Blob([text], { type: markdown ? "text/markdown" : "application/json" }));
    const made = make("a", { download: `atomr-${name}.${markdown ? "md" : "json"}` });
    made.href = address;
    made.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } catch (error) {
    showError(error);
  }
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
byId("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
byId("stop").addEventListener("click", stop);
byId("new-conversation").addEventListener("click", newConversation);
byId("edit-plan").addEventListener("click", () => canCorrect() && corrections.editPlan(state));
byId("save-markdown").addEventListener("click", () => save("markdown"));
byId("save-json").addEventListener("click", () => save("json"));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && running && !document.querySelector("dialog[open]")) stop();
});
window.addEventListener("hashchange", openAddress);

drawNow();
await Promise.all([choices.load(), openAddress()]);

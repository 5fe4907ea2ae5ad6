// The reasoning tree: a line for each step, its state first. Arrow keys walk it as trees are walked.

import { make, unseen } from "./dom.js";
import { level, notFound, shortened, STATES, stepKind, stepName, yourAnswer } from "./words.js";

const LONGEST = 300;

export class Tree {
  /**
   * @param root the element with the role of a tree
   * @param chosen called with the id of a step when the user goes to it
   * @param keys what Enter, E and R do with the step under the cursor: { open, edit, again }
   */
  constructor(root, chosen, keys) {
    this.root = root;
    this.chosen = chosen;
    this.keys = keys;
    this.items = new Map();
    this.selected = null;
    root.addEventListener("keydown", (event) => this.onKey(event));
    root.addEventListener("click", (event) => this.onClick(event));
  }

  clear() {
    this.root.replaceChildren();
    this.root.hidden = true;
    this.items.clear();
    this.selected = null;
  }

  /** Show the steps: lines that are there change in place, so that the cursor stays. */
  show(state) {
    for (const name of [...this.items.keys()]) {
      const view = state.nodes.get(name);
      if (!view || view.parent !== this.items.get(name).parent) {
        this.clear(); // another plan
        break;
      }
    }
    const waiting = [...state.nodes.values()];
    for (let left = waiting.length; waiting.length && left >= 0; left -= 1) {
      const view = waiting.shift();
      if (view.parent !== null && !this.items.has(view.parent)) waiting.push(view);
      else {
        if (!this.items.has(view.id)) this.add(view);
        this.fill(view, state);
        left = waiting.length;
      }
    }
    this.root.hidden = this.items.size === 0;
    if (this.selected === null && this.items.has(0)) this.select(0);
  }

  add(view) {
    const row = make("div", { class: "row", id: `row-${view.id}` });
    const item = make("li", {
      role: "treeitem", id: `step-${view.id}`, "data-step": view.id, "aria-labelledby": `row-${view.id}`, "aria-selected": "false", tabindex: "-1",
    }, row);
    const above = this.items.get(view.parent);
    this.items.set(view.id, { item, row, group: null, parent: view.parent, shown: "" });
    if (!above) {
      item.setAttribute("aria-level", "1");
      this.root.append(item);
      return;
    }
    if (!above.group) {
      above.group = make("ul", { role: "group" });
      above.item.append(above.group);
      above.item.setAttribute("aria-expanded", "true");
    }
    item.setAttribute("aria-level", String(Number(above.item.getAttribute("aria-level")) + 1));
    above.group.append(item);
  }

  fill(view, state) {
    const entry = this.items.get(view.id);
    const parts = this.line(view, state);
    const shown = [view.state, ...parts.map((part) => part.textContent)].join("\n");
    if (shown === entry.shown) return;
    entry.shown = shown;
    entry.item.dataset.state = view.state;
    entry.row.replaceChildren(...parts);
  }

  line(view, state) {
    const { mark, word } = STATES[view.state];
    const kind = stepKind(view);
    const result = view.result;
    const head = make("span", { class: "head" },
      make("span", { class: "mark", "aria-hidden": "true" }, mark),
      unseen(`${stepName(view.id)}, ${word}. `),
      view.id === 0 ? "" : make("span", { class: "number", "aria-hidden": "true" }, String(view.id)), " ",
      kind ? make("b", { class: "operator" }, `${kind} `) : "",
      make("span", { class: "asks" }, shortened(view.resolved, LONGEST)));
    if (!result || state.isStage(view)) return [head];
    const lost = result.outcome === "not found";
    const none = result.outcome === "computed" && !result.answers.length;
    const said = lost ? notFound : none ? "none" : shortened(result.answer, LONGEST);
    const line = make("span", { class: "found" }, unseen(". "), said ? make("b", { class: "answer" }, said) : "");
    if (view.byUser) line.append(make("span", { class: "faint" }, ` (${yourAnswer})`));
    else if (result.corrected_from !== null) line.append(make("span", { class: "note" }, result.corrected_from ? " ↻ corrected" : " ↻ completed"));
    else if (result.outcome === "computed") line.append(make("span", { class: "faint" }, " (computed)"));
    else if (result.outcome === "memory") line.append(make("span", { class: "faint" }, " (from memory)"));
    if (view.declined && !lost) line.append(make("span", { class: "sure doubtful" }, " ⚠ declined"));
    else if (typeof result.confidence === "number" && !lost && !view.byUser) {
      const { word: how, sign } = level(result.confidence);
      line.append(make("span", { class: `sure ${sign === "✓" ? "well" : sign === "⚠" ? "doubtful" : "likely"}` }, ` ${sign} ${how}`));
    }
    return [head, line];
  }

  /** The steps whose lines are seen, from top to bottom. */
  get seen() {
    return [...this.root.querySelectorAll("[role=treeitem]")].filter((item) => !item.parentElement.closest("[aria-expanded=false]"));
  }

  select(name, focus = false) {
    const entry = this.items.get(name);
    if (!entry) return;
    for (let above = this.items.get(entry.parent); above; above = this.items.get(above.parent)) {
      above.item.setAttribute("aria-expanded", "true");
    }
    for (const [other, { item }] of this.items) {
      item.setAttribute("aria-selected", String(other === name));
      item.tabIndex = other === name ? 0 : -1;
    }
    this.selected = name;
    if (focus) {
      entry.item.focus({ preventScroll: true });
      entry.row.scrollIntoView({ block: "nearest" });
    }
  }

  go(item) {
    if (!item) return;
    const name = Number(item.dataset.step);
    this.select(name, true);
    this.chosen(name);
  }

  fold(item, open) {
    item.setAttribute("aria-expanded", String(open));
  }

  onClick(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const item = row.parentElement;
    const again = Number(item.dataset.step) === this.selected;
    if (again && item.hasAttribute("aria-expanded") && event.target.closest(".mark")) this.fold(item, item.getAttribute("aria-expanded") === "false");
    this.go(item);
    this.keys.clicked();
  }

  onKey(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.ctrlKey || event.altKey || event.metaKey) return;
    const name = Number(item.dataset.step);
    const folded = item.getAttribute("aria-expanded"); // null where nothing is below
    const seen = this.seen;
    const place = seen.indexOf(item);
    const actions = {
      ArrowDown: () => this.go(seen[place + 1]),
      ArrowUp: () => this.go(seen[place - 1]),
      Home: () => this.go(seen[0]),
      End: () => this.go(seen.at(-1)),
      ArrowRight: () => (folded === "false" ? this.fold(item, true) : folded === "true" ? this.go(seen[place + 1]) : null),
      ArrowLeft: () => (folded === "true" ? this.fold(item, false) : this.go(item.parentElement.closest("[role=treeitem]"))),
      " ": () => folded !== null && this.fold(item, folded === "false"),
      Enter: () => this.keys.open(name),
      e: () => this.keys.edit(name),
      r: () => this.keys.again(name),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}

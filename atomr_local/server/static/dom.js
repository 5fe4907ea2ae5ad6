// Elements are made here and nowhere else. Texts become text nodes: nothing from outside is read as markup.

export const byId = (id) => document.getElementById(id);

/** An element. Attributes that are false, null or undefined are left out; children are elements or texts. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on") || name === "style" || name === "href") throw new Error(`not set like this: ${name}`);
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** A button that does something. */
export function button(attributes, action, ...children) {
  const made = make("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", action);
  return made;
}

/** A text for screen readers alone. */
export const unseen = (text) => make("span", { class: "unseen" }, text);

/** A link to a page elsewhere; the text alone where the address is none of the web's. */
export function link(address, ...children) {
  let parsed;
  try {
    parsed = new URL(address);
  } catch {
    return make("span", {}, ...children);
  }
  if (!["http:", "https:"].includes(parsed.protocol)) return make("span", {}, ...children);
  const made = make("a", { rel: "noopener noreferrer", target: "_blank" }, ...children);
  made.href = parsed.href;
  return made;
}

/** Name and value on one line. */
export const field = (name, value, kind = "") =>
  make("p", { class: `fact ${kind}`.trim() }, make("span", { class: "faint" }, `${name}: `), value);

/** A dialog whose Cancel button closes it; the focus goes back to where it was. */
export function open(dialog) {
  if (dialog.open) return;
  if (!dialog.dataset.ready) {
    dialog.dataset.ready = "yes";
    for (const close of dialog.querySelectorAll(".close")) close.addEventListener("click", () => dialog.close());
  }
  dialog.showModal();
}

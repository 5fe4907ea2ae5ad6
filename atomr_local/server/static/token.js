// The dialog that asks for the server's token.

import { setTokenQuestion } from "./calls.js";
import { byId, open } from "./dom.js";

let answers = [];

function settle(given) {
  const waiting = answers;
  answers = [];
  for (const answer of waiting) answer(given);
}

/** Several calls may be refused at once: they share one dialog. */
function ask(wrong) {
  const dialog = byId("token-dialog");
  byId("token-problem").textContent = wrong ? "The token is wrong." : "";
  open(dialog);
  const given = new Promise((resolve) => answers.push(resolve));
  byId("token").focus();
  return given;
}

export function prepareToken() {
  const dialog = byId("token-dialog");
  setTokenQuestion(ask);
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = byId("token").value.trim();
    if (!given) return;
    // A header holds nothing else; the server's own tokens are such texts.
    if (!/^[\x21-\x7e]+$/.test(given)) {
      byId("token-problem").textContent = "The token has characters that cannot be sent.";
      return;
    }
    byId("token").value = "";
    settle(given);
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    byId("token").value = "";
    settle(null);
  });
}

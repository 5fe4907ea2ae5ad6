// The theme: as the system has it, or as the user chose. Runs before the page is drawn, so that it does not flash.
"use strict";
(() => {
  const key = "atomr.theme";
  const kept = () => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // the browser keeps nothing
    }
  };
  const apply = (name) => {
    document.documentElement.dataset.theme = ["light", "dark"].includes(name) ? name : "system";
  };
  apply(kept());
  document.addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = document.documentElement.dataset.theme;
    choice.addEventListener("change", () => {
      apply(choice.value);
      try {
        localStorage.setItem(key, choice.value);
      } catch {
        // it holds until the page is left
      }
    });
  });
})();

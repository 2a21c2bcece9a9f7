"use strict";
// A word that is pointed at, touched or reached by the keyboard shows its own lines alone, and a
// sentence above the picture says what it looks at most. Without this file the picture is whole.
(() => {
  const start = () => {
    const told = document.getElementById("looks");
    const drawn = document.querySelector(".drawn");
    if (!told || !drawn) return;
    const usual = told.textContent;
    const most = 5;

    const wordAt = (panel, position) => {
      const own = position === "elsewhere" ? ".to" : ".from";
      const found = [...panel.querySelectorAll(own)].find((each) => each.dataset.position === position);
      const text = found && (found.matches("text") ? found : found.querySelector("text"));
      return text ? text.textContent : position;
    };

    const clear = () => {
      for (const panel of drawn.querySelectorAll(".panel.pointed")) panel.classList.remove("pointed");
      for (const line of drawn.querySelectorAll(".shown")) line.classList.remove("shown");
      told.textContent = usual;
    };

    const show = (word) => {
      clear();
      const panel = word.closest(".panel");
      const looks = word.matches(".from");
      const side = looks ? "from" : "to";
      const lines = [...panel.querySelectorAll(".line")]
        .filter((line) => line.dataset[side] === word.dataset.position)
        .sort((a, b) => b.dataset.weight - a.dataset.weight);
      panel.classList.add("pointed");
      for (const line of panel.querySelectorAll(".line, .arc")) {
        if (line.dataset[side] === word.dataset.position) line.classList.add("shown");
      }
      const other = looks ? "to" : "from";
      const parts = lines.slice(0, most).map(
        (line) => `${wordAt(panel, line.dataset[other])} ${Number(line.dataset.weight).toFixed(3)}`);
      const head = `${panel.dataset.layer}-${panel.dataset.head}`;
      const verb = looks ? "looks at" : "is looked at by";
      told.textContent = `${wordAt(panel, word.dataset.position)} ${verb} (head ${head}): `
        + (parts.join(", ") || "no word much");
    };

    for (const word of drawn.querySelectorAll(".from, .to")) {
      const target = word.matches(".from") ? word.querySelector("text") : word;
      target.addEventListener("pointerenter", () => show(word));
      target.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") clear();
      });
      target.addEventListener("focus", () => show(word));
      target.addEventListener("blur", clear);
      target.setAttribute("tabindex", "0");
    }
    document.onkeydown = (event) => {
      if (event.key === "Escape") clear();
    };
  };

  start();
  document.addEventListener("attnbank:filled", start);  // the page of a published bank
})();

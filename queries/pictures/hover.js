"use strict";
// The word under the pointer, or with the keyboard's focus, hides the lines of other words in every
// panel of its sentence, and shows its weights beside the words that it attends to; a click pins it.
// The largest weights are listed above. The picture is complete without this script.
(() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const MOST = 5;
  const LEAST = 0.01;  // of the strongest line; the numbers of weaker ones would overlap

  const start = () => {
    const status = document.getElementById("looks");
    const drawn = document.querySelector(".drawn");
    if (!status || !drawn) return;
    const hint = status.textContent;
    let pinned = null;

    const wordsOf = (panel, side) => [...panel.querySelectorAll(`.${side}`)];
    const textOf = (word) => (word.matches("text") ? word : word.querySelector("text"));
    const wordAt = (panel, side, position) =>
      wordsOf(panel, side).find((word) => word.dataset.position === position);

    const clear = () => {
      for (const panel of drawn.querySelectorAll(".panel.pointed")) panel.classList.remove("pointed");
      for (const line of drawn.querySelectorAll(".shown")) line.classList.remove("shown");
      for (const weight of drawn.querySelectorAll(".weight")) weight.remove();
      for (const word of drawn.querySelectorAll(".held")) word.classList.remove("held");
      status.textContent = hint;
    };

    const write = (word, side, weight) => {
      const text = textOf(word);
      const box = text.getBBox();
      const number = document.createElementNS(SPACE, "text");
      number.setAttribute("class", "weight");
      number.setAttribute("y", text.getAttribute("y"));
      number.setAttribute("font-size", String(0.75 * Number(text.getAttribute("font-size"))));
      number.setAttribute("x", String(side === "to" ? box.x + box.width + 6 : box.x - 6));
      if (side === "from") number.setAttribute("text-anchor", "end");
      number.textContent = weight.toFixed(2);
      word.closest(".panel").append(number);
    };

    const showIn = (panel, side, position) => {
      const other = side === "from" ? "to" : "from";
      const ownLines = [...panel.querySelectorAll(".line, .arc")]
        .filter((line) => line.dataset[side] === position);
      panel.classList.add("pointed");
      for (const line of ownLines) line.classList.add("shown");
      const lines = ownLines.filter((line) => line.matches(".line") && line.dataset.weight !== undefined)
        .sort((a, b) => b.dataset.weight - a.dataset.weight);
      const strongest = lines.length ? Number(lines[0].dataset.weight) : 0;
      for (const line of lines) {
        const word = wordAt(panel, other, line.dataset[other]);
        const weight = Number(line.dataset.weight);
        if (word && weight >= LEAST * Math.max(strongest, 1)) write(word, other, weight);
      }
      const parts = lines.slice(0, MOST).map((line) => {
        const word = wordAt(panel, other, line.dataset[other]);
        return `${word ? textOf(word).textContent : ""} ${Number(line.dataset.weight).toFixed(3)}`;
      });
      return `${panel.dataset.name}): ${parts.join(", ") || "no word much"}`;
    };

    const show = (word) => {
      clear();
      const ownPanel = word.closest(".panel");
      const side = word.matches(".from") ? "from" : "to";
      const { position } = word.dataset;
      const verb = side === "from" ? "looks at" : "is looked at by";
      for (const panel of drawn.querySelectorAll(".panel")) {
        const hasWord = panel.dataset.sentence === ownPanel.dataset.sentence
          && wordAt(panel, side, position);
        if (!hasWord) continue;
        const weights = showIn(panel, side, position);
        if (panel === ownPanel) status.textContent = `${textOf(word).textContent} ${verb} (${weights}`;
      }
      if (pinned === word) word.classList.add("held");
    };

    const leave = () => {
      if (pinned) show(pinned);
      else clear();
    };

    const pin = (word) => {
      pinned = pinned === word ? null : word;
      show(word);
    };

    const words = [...drawn.querySelectorAll(".from, .to")];
    // The tab key stops once at all words; arrow keys move between them.
    const step = (word, key) => {
      const panel = word.closest(".panel");
      const panels = [...drawn.querySelectorAll(".panel")];
      const side = word.matches(".from") ? "from" : "to";
      const column = wordsOf(panel, side);
      const at = column.indexOf(word);
      if (key === "ArrowDown") return column[at + 1];
      if (key === "ArrowUp") return column[at - 1];
      if (key === "Home") return column[0];
      if (key === "End") return column.at(-1);
      const columns = panels.flatMap((other) => [wordsOf(other, "from"), wordsOf(other, "to")]);
      const index = columns.findIndex((words) => words.includes(word)) + (key === "ArrowRight" ? 1 : -1);
      return columns[index] && columns[index][Math.min(at, columns[index].length - 1)];
    };
    words.forEach((word, at) => {
      const target = textOf(word);
      target.addEventListener("pointerenter", () => show(word));
      target.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") leave();
      });
      target.addEventListener("click", () => pin(word));
      target.addEventListener("focus", () => show(word));
      target.addEventListener("blur", leave);
      target.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          pin(word);
          return;
        }
        if (!/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) return;
        event.preventDefault();
        const next = step(word, event.key);
        if (!next) return;
        target.setAttribute("tabindex", "-1");
        textOf(next).setAttribute("tabindex", "0");
        textOf(next).focus();
      });
      target.setAttribute("tabindex", at ? "-1" : "0");
    });
    document.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      pinned = null;
      clear();
    };
  };

  start();
  document.addEventListener("attnbank:filled", start);  // by the page of a published bank
})();

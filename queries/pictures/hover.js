"use strict";
// A word that is pointed at, or reached by the keyboard, shows its own lines alone in every panel of
// its sentence, and the weights beside the words at their other ends; a click holds it. What it
// looks at most is said above. Without this file the picture is whole.
(() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const MOST = 5;
  const LEAST = 0.01;  // of the strongest line; the weights of weaker ones would stand on each other

  const start = () => {
    const told = document.getElementById("looks");
    const drawn = document.querySelector(".drawn");
    if (!told || !drawn) return;
    const usual = told.textContent;
    let held = null;

    const wordsOf = (panel, side) => [...panel.querySelectorAll(`.${side}`)];
    const textOf = (word) => (word.matches("text") ? word : word.querySelector("text"));
    const wordAt = (panel, side, position) =>
      wordsOf(panel, side).find((each) => each.dataset.position === position);

    const clear = () => {
      for (const panel of drawn.querySelectorAll(".panel.pointed")) panel.classList.remove("pointed");
      for (const line of drawn.querySelectorAll(".shown")) line.classList.remove("shown");
      for (const weight of drawn.querySelectorAll(".weight")) weight.remove();
      for (const word of drawn.querySelectorAll(".held")) word.classList.remove("held");
      told.textContent = usual;
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
      const own = [...panel.querySelectorAll(".line, .arc")]
        .filter((line) => line.dataset[side] === position);
      panel.classList.add("pointed");
      for (const line of own) line.classList.add("shown");
      const lines = own.filter((line) => line.matches(".line") && line.dataset.weight !== undefined)
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
      const panel = word.closest(".panel");
      const side = word.matches(".from") ? "from" : "to";
      const { position } = word.dataset;
      const verb = side === "from" ? "looks at" : "is looked at by";
      for (const each of drawn.querySelectorAll(".panel")) {
        const follows = each.dataset.sentence === panel.dataset.sentence
          && wordAt(each, side, position);
        if (!follows) continue;
        const found = showIn(each, side, position);
        if (each === panel) told.textContent = `${textOf(word).textContent} ${verb} (${found}`;
      }
      if (held === word) word.classList.add("held");
    };

    const leave = () => {
      if (held) show(held);
      else clear();
    };

    const hold = (word) => {
      held = held === word ? null : word;
      show(word);
    };

    const words = [...drawn.querySelectorAll(".from, .to")];
    // All words are one stop of the tab key: arrows go from one to the next.
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
      const columns = panels.flatMap((each) => [wordsOf(each, "from"), wordsOf(each, "to")]);
      const place = columns.findIndex((each) => each.includes(word)) + (key === "ArrowRight" ? 1 : -1);
      return columns[place] && columns[place][Math.min(at, columns[place].length - 1)];
    };
    words.forEach((word, at) => {
      const target = textOf(word);
      target.addEventListener("pointerenter", () => show(word));
      target.addEventListener("pointerleave", (event) => {
        if (event.pointerType === "mouse") leave();
      });
      target.addEventListener("click", () => hold(word));
      target.addEventListener("focus", () => show(word));
      target.addEventListener("blur", leave);
      target.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          hold(word);
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
      held = null;
      clear();
    };
  };

  start();
  document.addEventListener("attnbank:filled", start);  // the page of a published bank
})();

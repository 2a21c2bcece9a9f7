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
    const panels = [...drawn.querySelectorAll(".panel")];
    const words = [...drawn.querySelectorAll(".from, .to")];
    let pinned = null;

    const sideOf = (word) => (word.matches(".from") ? "from" : "to");
    const wordsOf = (panel, side) => [...panel.querySelectorAll(`.${side}`)];
    const textOf = (word) => (word.matches("text") ? word : word.querySelector("text"));
    const wordAt = (panel, side, position) =>
      wordsOf(panel, side).find((word) => word.dataset.position === position);

    const clear = () => {
      for (const weight of drawn.querySelectorAll(".weight")) weight.remove();
      for (const kind of ["pointed", "shown", "held"]) {
        for (const element of drawn.querySelectorAll(`.${kind}`)) element.classList.remove(kind);
      }
      status.textContent = hint;
    };

    const write = (word, side, weight) => {
      const text = textOf(word);
      const box = text.getBBox();
      const number = document.createElementNS(SPACE, "text");
      const attributes = {
        class: "weight", y: text.getAttribute("y"), "font-size": 0.75 * text.getAttribute("font-size"),
        x: side === "to" ? box.x + box.width + 6 : box.x - 6, "text-anchor": side === "to" ? "start" : "end",
      };
      for (const [name, value] of Object.entries(attributes)) number.setAttribute(name, value);
      number.textContent = weight.toFixed(2);
      word.closest(".panel").append(number);
    };

    // Show the lines of a word in a panel; returns its largest weights.
    const showIn = (panel, side, position) => {
      const other = side === "from" ? "to" : "from";
      const own = [...panel.querySelectorAll(".line, .arc")]
        .filter((line) => line.dataset[side] === position);
      panel.classList.add("pointed");
      for (const line of own) line.classList.add("shown");
      const weights = own.filter((line) => line.matches(".line") && line.dataset.weight !== undefined)
        .map(({ dataset }) => ({
          weight: Number(dataset.weight), word: wordAt(panel, other, dataset[other]),
        }))
        .sort((a, b) => b.weight - a.weight);
      const least = LEAST * Math.max(weights[0]?.weight ?? 0, 1);
      for (const { word, weight } of weights) if (word && weight >= least) write(word, other, weight);
      const listed = weights.slice(0, MOST)
        .map(({ word, weight }) => `${word ? textOf(word).textContent : ""} ${weight.toFixed(3)}`);
      return `${panel.dataset.name}): ${listed.join(", ") || "no word much"}`;
    };

    const show = (word) => {
      clear();
      const ownPanel = word.closest(".panel");
      const side = sideOf(word);
      const { position } = word.dataset;
      const verb = side === "from" ? "looks at" : "is looked at by";
      for (const panel of panels) {
        const isOfSentence = panel.dataset.sentence === ownPanel.dataset.sentence;
        if (!isOfSentence || !wordAt(panel, side, position)) continue;
        const weights = showIn(panel, side, position);
        if (panel === ownPanel) status.textContent = `${textOf(word).textContent} ${verb} (${weights}`;
      }
      if (pinned === word) word.classList.add("held");
    };

    const leave = () => (pinned ? show(pinned) : clear());

    const pin = (word) => {
      pinned = pinned === word ? null : word;
      show(word);
    };

    // The tab key stops once at all words; arrow keys move between them.
    const next = (word, key) => {
      const columns = panels.flatMap((panel) => [wordsOf(panel, "from"), wordsOf(panel, "to")]);
      const here = columns.findIndex((column) => column.includes(word));
      const at = columns[here].indexOf(word);
      const beside = columns[here + (key === "ArrowRight" ? 1 : -1)];
      return {
        ArrowDown: columns[here][at + 1], ArrowUp: columns[here][at - 1],
        Home: columns[here][0], End: columns[here].at(-1),
      }[key] ?? (/Left|Right/.test(key) ? beside?.[Math.min(at, beside.length - 1)] : undefined);
    };

    const press = (word, event) => {
      const { key } = event;
      if (!/^(Enter| |Arrow(Up|Down|Left|Right)|Home|End)$/.test(key)) return;
      event.preventDefault();
      if (key === "Enter" || key === " ") {
        pin(word);
        return;
      }
      const other = next(word, key);
      if (!other) return;
      textOf(word).setAttribute("tabindex", "-1");
      textOf(other).setAttribute("tabindex", "0");
      textOf(other).focus();
    };

    words.forEach((word, at) => {
      const text = textOf(word);
      text.addEventListener("pointerenter", () => show(word));
      text.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && leave());
      text.addEventListener("click", () => pin(word));
      text.addEventListener("focus", () => show(word));
      text.addEventListener("blur", leave);
      text.addEventListener("keydown", (event) => press(word, event));
      text.setAttribute("tabindex", at ? "-1" : "0");
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

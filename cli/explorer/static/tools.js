"use strict";
// The buttons below a view. Without this file those that need it stay hidden.
(() => {
  const picture = () => document.querySelector(".drawn svg, svg.map, .wide picture img");

  const save = (url, name) => {
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
  };

  const saveSvg = (button) => {
    const found = picture();
    const name = `${document.title.replaceAll(/[^\w.-]+/g, "_")}.svg`;
    if (found.matches("img")) {
      save(found.currentSrc || found.src, name);
      return;
    }
    const svg = found.cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    // What the style sheet colours is written down, since a file has no style sheet.
    const drawn = [found, ...found.querySelectorAll("[class]")];
    const copies = [svg, ...svg.querySelectorAll("[class]")];
    drawn.forEach((each, at) => {
      const style = getComputedStyle(each);
      if (!each.hasAttribute("fill")) copies[at].setAttribute("fill", style.fill);
    });
    const text = new XMLSerializer().serializeToString(svg);
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    save(url, name);
    URL.revokeObjectURL(url);
    button.focus();
  };

  const copy = async (button, text) => {
    const usual = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copying is not allowed here";
    }
    setTimeout(() => { button.textContent = usual; }, 2000);
  };

  const start = () => {
    for (const button of document.querySelectorAll(".tools [data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(
        button, button.dataset.copy === "link" ? location.href : document.querySelector(".tools code").textContent));
    }
    const button = document.querySelector(".tools [data-save=svg]");
    if (button && picture()) {
      button.hidden = false;
      button.addEventListener("click", () => saveSvg(button));
    }
  };

  start();
  document.addEventListener("attnbank:filled", start);
})();

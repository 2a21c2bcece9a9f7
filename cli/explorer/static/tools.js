"use strict";
// The buttons below a view. Without this file those that need it stay hidden.
(() => {
  const picture = () => document.querySelector(".drawn svg, svg.map, .wide picture img");

  const save = (url, name) => {
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
  };

  const nameOf = (kind) => `${document.title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;

  const textOf = (found) => {
    const svg = found.cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    // What the style sheet colours is written down, since a file has no style sheet.
    const drawn = [found, ...found.querySelectorAll("[class]")];
    const copies = [svg, ...svg.querySelectorAll("[class]")];
    drawn.forEach((each, at) => {
      const style = getComputedStyle(each);
      if (!each.hasAttribute("fill")) copies[at].setAttribute("fill", style.fill);
    });
    return new XMLSerializer().serializeToString(svg);
  };

  const saveSvg = (button) => {
    const found = picture();
    if (found.matches("img")) {
      save(found.currentSrc || found.src, nameOf("svg"));
      return;
    }
    const url = URL.createObjectURL(new Blob([textOf(found)], { type: "image/svg+xml" }));
    save(url, nameOf("svg"));
    URL.revokeObjectURL(url);
    button.focus();
  };

  const DOTS = 2;
  // The browser draws the picture, on its ground, with two dots for each of its pixels.
  const savePng = async (button) => {
    const found = picture();
    const image = new Image();
    image.src = found.matches("img") ? found.currentSrc || found.src
      : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(found))}`;
    await image.decode();
    const box = found.getBoundingClientRect();
    const canvas = Object.assign(document.createElement("canvas"), {
      width: DOTS * (image.naturalWidth || box.width), height: DOTS * (image.naturalHeight || box.height) });
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    save(canvas.toDataURL("image/png"), nameOf("png"));
    button.focus();
  };

  const copy = async (button, text) => {
    const usual = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow copying";
    }
    setTimeout(() => { button.textContent = usual; }, 2000);
  };

  const start = () => {
    for (const button of document.querySelectorAll(".tools [data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(
        button, button.dataset.copy === "link" ? new URL(button.dataset.address ?? location.href, location.href).href
          : button.parentElement.querySelector("code").textContent));
    }
    for (const [kind, make] of [["svg", saveSvg], ["png", savePng]]) {
      const button = document.querySelector(`.tools [data-save=${kind}]`);
      if (!button || !picture()) continue;
      button.hidden = false;
      button.addEventListener("click", () => make(button));
    }
  };

  start();
  document.addEventListener("attnbank:filled", start);
})();

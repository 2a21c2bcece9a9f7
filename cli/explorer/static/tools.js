"use strict";
// The buttons below a view; they stay hidden without this script.
(() => {
  const picture = () => document.querySelector(".drawn svg, svg.map, .wide picture img");

  const save = (url, name) => {
    Object.assign(document.createElement("a"), { href: url, download: name }).click();
  };

  const nameOf = (kind) => `${document.title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;

  const textOf = (drawing) => {
    const svg = drawing.cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    // Write the colours of the style sheet into the file, which has none.
    const elements = [drawing, ...drawing.querySelectorAll("[class]")];
    const copies = [svg, ...svg.querySelectorAll("[class]")];
    elements.forEach((element, at) => {
      const style = getComputedStyle(element);
      if (!element.hasAttribute("fill")) copies[at].setAttribute("fill", style.fill);
    });
    return new XMLSerializer().serializeToString(svg);
  };

  const saveSvg = (button) => {
    const drawing = picture();
    if (drawing.matches("img")) {
      save(drawing.currentSrc || drawing.src, nameOf("svg"));
      return;
    }
    const url = URL.createObjectURL(new Blob([textOf(drawing)], { type: "image/svg+xml" }));
    save(url, nameOf("svg"));
    URL.revokeObjectURL(url);
    button.focus();
  };

  const SCALE = 2;
  // The browser draws the picture on its background, at twice its size in pixels.
  const savePng = async (button) => {
    const drawing = picture();
    const image = new Image();
    image.src = drawing.matches("img") ? drawing.currentSrc || drawing.src
      : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(textOf(drawing))}`;
    await image.decode();
    const box = drawing.getBoundingClientRect();
    const canvas = Object.assign(document.createElement("canvas"), {
      width: SCALE * (image.naturalWidth || box.width), height: SCALE * (image.naturalHeight || box.height) });
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

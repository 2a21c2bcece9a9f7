// What a view can be taken away as: its address, its rows, its picture, the commands that give it. `frame`
// may be a function that makes the rows of all pages.
import { csv } from "./cells.js";
import { html, render, svg } from "./dom.js";

export function tools(context, { title, frame, files, command, plotCommand, answered, isDrawn }) {
  const address = answered ? context.link(context.path, { ...context.given, run: answered }) : location.href;
  const commands = [["gives this", command], ["draws it", plotCommand]].filter(([, text]) => text);
  const { csv: file, ...pictures } = files ?? {};
  const nameOf = (kind) => `${title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;
  const copied = (text) => ({ currentTarget }) => copy(currentTarget, text);
  const saved = (kind, save) => html`<button type="button" data-save=${kind}
    @click=${() => save(nameOf(kind))}>Download ${kind.toUpperCase()}</button>`;
  const saveRows = async (name) => {
    const rows = typeof frame === "function" ? await frame() : frame;
    saveText(csv(rows), name, "text/csv");
  };
  const linked = (kind, href) => html`<a class="button" href=${href}
    download>Download ${kind.toUpperCase()}</a>`;
  return html`<div class="tools" role="group" aria-label="Share and download">
    <button type="button" data-copy="link"
      @click=${copied(new URL(address, location.href).href)}>Copy link</button>
    ${file ? linked("csv", file) : frame ? saved("csv", saveRows) : null}
    ${Object.entries(pictures).map(([kind, href]) => linked(kind, href))}
    ${Object.keys(pictures).length || !isDrawn ? null
      : html`<span class="drawings">${saved("svg", saveSvg)} ${saved("png", savePng)}</span>`}
    ${commands.map(([verb, text]) => html`<span class="command"><span>The command that ${verb}:</span>
      <code>${text}</code>
      <button type="button" data-copy="command" @click=${copied(text)}>Copy</button></span>`)}
  </div>`;
}

async function copy(button, text) {
  const label = button.textContent;
  const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.textContent = isCopied ? "Copied" : "The browser does not allow copying";
  setTimeout(() => { button.textContent = label; }, 2000);
}

function save(address, name) {
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
}

function saveText(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  save(address, name);
  URL.revokeObjectURL(address);
}

// What is drawn on the page, with its captions, or the pictures of the host.
const drawings = () => [...document.querySelectorAll(".drawn svg, .drawn figcaption, svg.map, .wide picture img")];
const addressOf = (image) => image.currentSrc || image.src;

function saveSvg(name) {
  const [image] = drawings();
  if (image.matches("img")) save(addressOf(image), name);
  else saveText(fileText().text, name, "image/svg+xml");
}

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "vector-effect",
  "opacity", "font-size", "font-family", "font-weight", "paint-order",
];

// The drawings of the page as they stand there, as one file on its ground.
function fileText() {
  const boxes = drawings().map((drawing) => [drawing, drawing.getBoundingClientRect()]);
  const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map(([, box]) => box[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map(([, box]) => box[side])));
  const [width, height] = [Math.ceil(right - left), Math.ceil(bottom - top)];
  const part = ([drawing, box]) => {
    const [x, y] = [box.left - left, box.top - top];
    if (drawing.matches("svg")) return styled(drawing, { x, y, width: box.width, height: box.height });
    const { color, fontSize, fontFamily } = getComputedStyle(drawing);
    return svg`<text x=${x} y=${y + 0.8 * box.height} fill=${color} font-weight="bold" font-size=${fontSize}
      font-family=${fontFamily}>${drawing.textContent.trim()}</text>`;
  };
  const holder = document.createElement("div");
  render(svg`<svg width=${width} height=${height}><rect width=${width} height=${height}
    fill=${getComputedStyle(document.body).backgroundColor}></rect>${boxes.map(part)}</svg>`, holder);
  return { width, height, text: new XMLSerializer().serializeToString(holder.firstElementChild) };
}

// A copy of a drawing with what the style sheet says, which a file does not have.
function styled(drawing, place) {
  const copy = drawing.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [drawing, ...drawing.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) copies[at].setAttribute(name, style.getPropertyValue(name));
    if (style.visibility === "hidden" || style.display === "none") copies[at].remove();
  });
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
  return copy;
}

const SCALE = 2;

// The browser draws the picture at twice its size in pixels.
async function savePng(name) {
  const image = new Image();
  const [drawing] = drawings();
  const { text, width, height } = drawing.matches("img") ? drawing : fileText();
  image.src = text ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` : addressOf(drawing);
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: SCALE * width, height: SCALE * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), name);
}

// What a view can be taken away as: its address, its rows, its picture, the commands that give it.
import { csv } from "./cells.js";
import { html } from "./dom.js";

export function tools(context, { title, frame, files, command, plotCommand, answered, isDrawn }) {
  const address = answered ? context.link(context.path, { ...context.given, run: answered }) : location.href;
  const commands = [["gives this", command], ["draws it", plotCommand]].filter(([, text]) => text);
  const { csv: rows, ...pictures } = files ?? {};
  const nameOf = (kind) => `${title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;
  const copied = (text) => ({ currentTarget }) => copy(currentTarget, text);
  const saved = (kind, save) => html`<button type="button" data-save=${kind}
    @click=${() => save(nameOf(kind))}>Download ${kind.toUpperCase()}</button>`;
  const saveRows = (name) => saveText(csv(frame), name, "text/csv");
  const linked = (kind, href) => html`<a class="button" href=${href}
    download>Download ${kind.toUpperCase()}</a>`;
  return html`<div class="tools" role="group" aria-label="Share and download">
    <button type="button" data-copy="link"
      @click=${copied(new URL(address, location.href).href)}>Copy link</button>
    ${rows ? linked("csv", rows) : frame ? saved("csv", saveRows) : null}
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

// The picture of a view: drawn here, or a file of the host.
const picture = () => document.querySelector(".drawn svg, svg.map, .wide picture img");
const addressOf = (image) => image.currentSrc || image.src;

function saveSvg(name) {
  const drawing = picture();
  if (drawing.matches("img")) save(addressOf(drawing), name);
  else saveText(fileText(drawing), name, "image/svg+xml");
}

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-size",
  "font-family", "font-weight", "paint-order",
];

// A drawing as a file, with what the style sheet says, which a file does not have.
function fileText(drawing) {
  const svg = drawing.cloneNode(true);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const copies = [svg, ...svg.querySelectorAll("*")];
  [drawing, ...drawing.querySelectorAll("*")].forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) copies[at].setAttribute(name, style.getPropertyValue(name));
    if (style.visibility === "hidden") copies[at].remove();
  });
  return new XMLSerializer().serializeToString(svg);
}

const SCALE = 2;

// The browser draws the picture on its background, at twice its size in pixels.
async function savePng(name) {
  const drawing = picture();
  const image = new Image();
  image.src = drawing.matches("img") ? addressOf(drawing)
    : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(fileText(drawing))}`;
  await image.decode();
  const box = drawing.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * (image.naturalWidth || box.width);
  canvas.height = SCALE * (image.naturalHeight || box.height);
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), name);
}

// What a view can be taken away as: its address, its rows, its picture, the commands that give it.
import { csv } from "./cells.js";
import { html } from "./dom.js";

export function tools(context, { title, frame, files, command, plotCommand, answered, isDrawn }) {
  const address = answered ? context.link(context.path, { ...context.given, run: answered }) : location.href;
  const commands = [["gives this", command], ["draws it", plotCommand]].filter(([, text]) => text);
  const pictures = Object.entries(files ?? {}).filter(([kind]) => kind !== "csv");
  return html`<div class="tools" role="group" aria-label="Share and download">
    <button type="button" data-copy="link" @click=${(event) => copy(event.currentTarget, new URL(address, location.href).href)}>Copy link</button>
    ${files?.csv ? html`<a class="button" href=${files.csv} download>Download CSV</a>`
      : frame ? html`<button type="button" data-save="csv" @click=${() => saveText(csv(frame), nameOf(title, "csv"), "text/csv")}>Download CSV</button>` : null}
    ${pictures.map(([kind, href]) => html`<a class="button" href=${href} download>Download ${kind.toUpperCase()}</a>`)}
    ${pictures.length || !isDrawn ? null : html`<span class="drawings">
      <button type="button" data-save="svg" @click=${() => saveSvg(title)}>Download SVG</button>
      <button type="button" data-save="png" @click=${() => savePng(title)}>Download PNG</button></span>`}
    ${commands.map(([verb, text]) => html`<span class="command"><span>The command that ${verb}:</span> <code>${text}</code>
      <button type="button" data-copy="command" @click=${(event) => copy(event.currentTarget, text)}>Copy</button></span>`)}
  </div>`;
}

async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The browser does not allow copying";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

const nameOf = (title, kind) => `${title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;

function save(address, name) {
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
}

function saveText(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  save(address, name);
  URL.revokeObjectURL(address);
}

// The picture of a view: drawn here, or a file of the host.
const PICTURE = ".drawn svg, svg.map, .wide picture img";

function saveSvg(title) {
  const picture = document.querySelector(PICTURE);
  if (picture.matches("img")) save(picture.currentSrc || picture.src, nameOf(title, "svg"));
  else saveText(fileText(picture), nameOf(title, "svg"), "image/svg+xml");
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-size", "font-family", "font-weight", "paint-order"];

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
async function savePng(title) {
  const picture = document.querySelector(PICTURE);
  const image = new Image();
  image.src = picture.matches("img") ? picture.currentSrc || picture.src
    : `data:image/svg+xml;charset=utf-8,${encodeURIComponent(fileText(picture))}`;
  await image.decode();
  const box = picture.getBoundingClientRect();
  const canvas = Object.assign(document.createElement("canvas"), {
    width: SCALE * (image.naturalWidth || box.width), height: SCALE * (image.naturalHeight || box.height) });
  const context = canvas.getContext("2d");
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), nameOf(title, "png"));
}

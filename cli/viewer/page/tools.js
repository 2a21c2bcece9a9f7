// What a view can be taken away as: its address, its rows, its picture, the commands that give it. `frame`
// may be a function that makes the rows of all pages.
import { csv } from "./cells.js";
import { html, render, svg } from "./dom.js";

export function tools(context, { title, frame, files, command, plotCommand, answered, isDrawn }) {
  const address = answered ? context.link(context.path, { ...context.given, run: answered }) : location.href;
  const commands = [["gives the rows", command], ["plots the analysis", plotCommand]].filter(([, text]) => text);
  const { csv: file, ...pictures } = files ?? {};
  const nameOf = (kind) => `${title.replaceAll(/[^\w.-]+/g, "_")}.${kind}`;
  const copied = (text, done) => ({ currentTarget }) => copy(currentTarget, text(), done);
  const link = new URL(address, location.href).href;
  const run = context.bank.runs.find(({ name }) => name === answered);
  // An address of the explorer is one of this machine.
  const done = context.connector.isServer ? "Copied; for this machine only: attnbank publish makes a page for others"
    : "Copied";
  const saved = (kind, save) => html`<button type="button" data-save=${kind}
    @click=${() => save(nameOf(kind))}>Download ${kind.toUpperCase()}</button>`;
  const saveRows = async (name) => {
    const rows = typeof frame === "function" ? await frame() : frame;
    saveText(csv(rows), name, "text/csv");
  };
  const linked = (kind, href) => html`<a class="button" href=${href}
    download>Download ${kind.toUpperCase()}</a>`;
  return html`<div class="tools" role="group" aria-label="Share and download">
    <button type="button" data-copy="link" @click=${copied(() => link, done)}>Copy link</button>
    ${run ? html`<button type="button" data-copy="citation"
      @click=${copied(() => citation(context, run, title, command, link))}>Cite</button>` : null}
    ${file ? linked("csv", file) : frame ? saved("csv", saveRows) : null}
    ${Object.entries(pictures).map(([kind, href]) => linked(kind, href))}
    ${Object.keys(pictures).length || !isDrawn ? null : html`<span class="drawings">
      ${saved("svg", (name) => saveSvg(name, run?.source ?? ""))}
      ${saved("png", (name) => savePng(name, run?.source ?? ""))}</span>`}
    ${commands.map(([verb, text]) => html`<span class="command"><span>The command that ${verb}:</span>
      <code>${text}</code>
      <button type="button" data-copy="command" @click=${copied(() => text)}>Copy</button></span>`)}
  </div>`;
}

// What a view shows, of which run, model and corpus, and how to get it again.
function citation({ connector }, run, title, command, link) {
  const said = document.querySelector(".headline")?.textContent.trim().replace(/\s+/g, " ") ?? `${title}.`;
  return [said, run.citation, command, connector.isServer ? null : link].filter(Boolean).join("\n");
}

async function copy(button, text, done = "Copied") {
  const label = button.textContent;
  const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  button.textContent = isCopied ? done : "The browser does not allow copying";
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
const DRAWN = ".drawn svg, .drawn figcaption, .as-file svg:not(.bar svg), .as-file :is(h2, h3), svg.map, .wide picture img";
const GRID = ".as-file .grid :is(caption, th, td)";
const drawings = () => [...document.querySelectorAll(`${DRAWN}, ${GRID}`)];
const addressOf = (image) => image.currentSrc || image.src;

function saveSvg(name, source) {
  const [image] = drawings();
  if (image.matches("img")) save(addressOf(image), name);
  else saveText(fileText(source).text, name, "image/svg+xml");
}

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "vector-effect",
  "opacity", "font-size", "font-family", "font-weight", "paint-order",
];

// The drawings of the page as they stand there, as one file on its ground, with the run below.
function fileText(source) {
  const boxes = drawings().map((drawing) => [drawing, drawing.getBoundingClientRect()]);
  const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map(([, box]) => box[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map(([, box]) => box[side])));
  const [width, height] = [Math.max(7 * source.length, Math.ceil(right - left)), Math.ceil(bottom - top) + 22];
  const { color: ink, fontFamily: font, backgroundColor: ground } = getComputedStyle(document.body);
  const part = ([drawing, box]) => {
    const [x, y] = [box.left - left, box.top - top];
    if (drawing.matches("svg")) return styled(drawing, { x, y, width: box.width, height: box.height });
    const { color, fontSize, fontFamily } = getComputedStyle(drawing.querySelector("a") ?? drawing);
    const [isCell, isHeading] = [drawing.matches("td"), drawing.matches("figcaption, h2, h3")];
    const isMiddle = drawing.matches("td, th");
    const lines = isMiddle || isHeading ? [drawing.textContent.trim()]
      : linesOf(drawing.textContent.trim(), (1.9 * box.width) / parseFloat(fontSize));
    return svg`${isCell ? svg`<rect x=${x} y=${y} width=${box.width - 1} height=${box.height - 1}
        fill=${getComputedStyle(drawing).backgroundColor}></rect>` : null}
      ${lines.map((line, at) => svg`<text x=${isMiddle ? x + box.width / 2 : x} font-family=${fontFamily}
        y=${y + (isMiddle ? 0.7 * box.height : 1.25 * (at + 0.8) * parseFloat(fontSize))} font-size=${fontSize}
        text-anchor=${isMiddle ? "middle" : "start"} font-weight=${isHeading ? "bold" : "normal"}
        fill=${color}>${line}</text>`)}`;
  };
  const holder = document.createElement("div");
  render(svg`<svg width=${width} height=${height}><rect width=${width} height=${height}
    fill=${ground}></rect>${boxes.map(part)}
    <text x="0" y=${height - 6} font-size="12" fill=${ink} font-family=${font}>${source}</text></svg>`, holder);
  return { width, height, text: new XMLSerializer().serializeToString(holder.firstElementChild) };
}

// A text as lines of so many characters.
const linesOf = (text, width) => text.split(/\s+/).reduce(([...lines], word) => {
  const last = lines.pop() ?? "";
  return last && last.length + word.length >= width ? [...lines, last, word] : [...lines, `${last} ${word}`.trim()];
}, []);

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
async function savePng(name, source) {
  const image = new Image();
  const [drawing] = drawings();
  const { text, width, height } = drawing.matches("img") ? drawing : fileText(source);
  image.src = text ? `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}` : addressOf(drawing);
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: SCALE * width, height: SCALE * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), name);
}

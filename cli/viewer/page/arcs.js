// A sentence as a line of words with the attention of a head as arcs above it. Three marks look the
// same everywhere: the dependent in a box, its gold head in blue, the word that was found in orange.
import { html, svg } from "./dom.js";

const NAMES = ["position", "kind", "text", "word", "sentence", "index", "form", "head_word", "head_form", "relation"];
const SIZE = 15;
const GAP = 7;
const CUT = 16; // the room of …
const LEAST = 0.1; // a weaker line is not drawn
const HIGHEST = 46;
const LABEL = 12; // the height of a weight
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

// What the three marks are, above examples.
export const KEY = html`<p class="key"><span class="box dependent"></span> dependent <span class="box gold"></span> its head <span class="box found"></span> found instead; numbers are weights</p>`;

const canvas = document.createElement("canvas").getContext("2d");

// The words of a sentence in its input, in the order of the text: { position, index, text }.
function wordsOf(record, sentence) {
  const shown = new Set(record.shown);
  const positions = record.positions.map((row) => Object.fromEntries(NAMES.map((name, at) => [name, row[at]])));
  return positions.filter((row, at) => shown.has(row.position) && row.sentence === sentence
    && (at === 0 || positions[at - 1].position !== row.position));
}

// What a head does with one dependent: the positions of the dependent, of its gold head and of the
// word that it found, and the weights to both. Whether it is right is what the bank counts: of a
// position with several words each is found.
export function judge(record, { sentence, dependent, gold, direction, breakdown }) {
  const positions = record.positions.map((row) => Object.fromEntries(NAMES.map((name, at) => [name, row[at]])));
  const at = (index) => positions.find((row) => row.sentence === sentence && row.index === index)?.position ?? null;
  const [own, other] = [at(dependent), at(gold)];
  const weights = new Map(record.maps.map((row) => [row.from_position, row.weights]));
  const isBackward = direction === "head_to_dependent" || (direction === "later_to_earlier" && other > own);
  const peak = record.peaks.find((row) => row.position === own);
  const found = (isBackward ? peak?.most_attending : peak?.most_attended) ?? null;
  const weight = (position) => (position === null ? null : (isBackward ? weights.get(position)?.[own] : weights.get(own)?.[position]) ?? null);
  return { own, gold: other, found, isBackward, goldWeight: weight(other), foundWeight: weight(found), isRight: breakdown === "right" };
}

export function arcLine(record, sentence, judged, width) {
  const words = wordsOf(record, sentence);
  canvas.font = `${SIZE}px system-ui, "Liberation Sans", Arial, sans-serif`;
  const widths = words.map((word) => Math.ceil(canvas.measureText(word.text).width) + GAP);
  const marked = [judged.own, judged.gold, judged.found].map((position) => words.findIndex((word) => word.position === position)).filter((at) => at >= 0);
  const shown = shownWords(widths, marked, width);
  const isRtl = words.filter((word) => RTL.test(word.text)).length * 2 > words.length;
  let x = 4;
  const places = new Map();
  const cuts = [];
  const cut = () => {
    cuts.push(isRtl ? width - x - CUT : x);
    x += CUT;
  };
  shown.forEach((index, at) => {
    if (index > (at ? shown[at - 1] + 1 : 0)) cut();
    const wide = widths[index] - GAP;
    places.set(words[index].position, { word: words[index], wide, x: isRtl ? width - x - wide : x });
    x += widths[index];
  });
  if (shown.at(-1) < words.length - 1) cut();
  const middle = (position) => places.get(position).x + places.get(position).wide / 2;
  const arcs = arcsOf(record, judged, places);
  const height = (arc) => Math.min(HIGHEST, 12 + 0.2 * length(arc, middle));
  const raised = crowdedArc(arcs, middle);
  const top = 0.75 * Math.max(12, ...arcs.map(height)) + 18 + (raised ? LABEL : 0); // a curve rises to 0.75 of its height, and its weight stands above
  const base = top + SIZE;
  const marks = [["dependent", judged.own], ["gold", judged.gold], ["found", judged.isRight ? null : judged.found]];
  return svg`<svg class="arcs" viewBox=${`0 0 ${width} ${base + 9}`} width=${width} height=${base + 9} role="img" aria-label=${describe(words, judged)}>
    ${arcs.map((arc) => drawArc(arc, middle, top - 2, height(arc), arc === raised ? LABEL : 0))}
    ${marks.filter(([, position]) => places.has(position)).map(([kind, position]) => {
      const place = places.get(position);
      return svg`<rect class=${`mark-${kind}`} x=${place.x - 3} y=${top} width=${place.wide + 6} height=${SIZE + 6} rx="3"></rect>`;
    })}
    ${[...places.values()].map(({ word, x: left, wide }) => {
      const right = RTL.test(word.text);
      return svg`<text x=${right ? left + wide : left} y=${base} direction=${right ? "rtl" : null}>${word.text}</text>`;
    })}
    ${cuts.map((left) => svg`<text class="cut" x=${left} y=${base}>…</text>`)}
  </svg>`;
}

// The indexes of the words that there is room for: the marked ones, then their neighbours.
function shownWords(widths, marked, room) {
  const distance = (index) => Math.min(...marked.map((at) => Math.abs(at - index)), marked.length ? Infinity : index);
  const order = widths.map((_, index) => index).sort((a, b) => distance(a) - distance(b) || a - b);
  const shown = new Set();
  let used = CUT * (2 + marked.length);
  for (const index of order) {
    if (used + widths[index] > room && distance(index)) break;
    used += widths[index];
    shown.add(index);
  }
  return [...shown].sort((a, b) => a - b);
}

// The lines of a head between words that are shown; those of the judged dependent come last, on top.
function arcsOf(record, judged, places) {
  const arcs = [];
  for (const { from_position: from, weights } of record.maps) {
    if (!places.has(from)) continue;
    weights.forEach((weight, to) => {
      if (weight >= LEAST && to !== from && places.has(to)) arcs.push({ from, to, weight, kind: "plain" });
    });
  }
  arcs.sort((a, b) => a.weight - b.weight);
  const own = (position, kind, weight) => {
    if (position === null || !places.has(position) || !places.has(judged.own)) return;
    const [from, to] = judged.isBackward ? [position, judged.own] : [judged.own, position];
    arcs.splice(0, arcs.length, ...arcs.filter((arc) => arc.from !== from || arc.to !== to), { from, to, weight, kind });
  };
  own(judged.gold, judged.isRight ? "right" : "missed", judged.goldWeight);
  if (!judged.isRight) own(judged.found, "found", judged.foundWeight);
  return arcs;
}

// Of the arcs to the missed head and to the word that was found the longer one, if their weights would
// stand on each other.
function crowdedArc(arcs, middle) {
  const both = arcs.filter((arc) => arc.kind === "missed" || arc.kind === "found");
  const [one, other] = both.toSorted((a, b) => length(b, middle) - length(a, middle));
  const centre = ({ from, to }) => (middle(from) + middle(to)) / 2;
  return other && Math.abs(centre(one) - centre(other)) < 30 ? one : null;
}

const length = ({ from, to }, middle) => Math.abs(middle(to) - middle(from));

function drawArc({ from, to, weight, kind }, middle, base, high, raise) {
  const [start, end] = [middle(from), middle(to)];
  const path = `M${start} ${base}C${start} ${base - high} ${end} ${base - high} ${end} ${base}`;
  const wide = kind === "plain" ? 0.6 + 2 * (weight ?? 0) : 1.2 + 4 * (weight ?? 0);
  return svg`<path class=${`arc arc-${kind}`} d=${path} stroke-width=${wide.toFixed(2)}><title>${weight === null || weight === undefined ? "" : weight.toFixed(3)}</title></path>
    ${kind === "plain" ? null : svg`<text class="weight" x=${(start + end) / 2} y=${base - 0.75 * high - 3 - raise} text-anchor="middle">${weight === null || weight === undefined ? "" : weight.toFixed(2)}</text>`}`;
}

function describe(words, judged) {
  const text = (position) => words.find((word) => word.position === position)?.text ?? "a word that is not shown";
  const found = judged.isRight ? "found" : `missed: ${judged.found === null ? "nothing" : text(judged.found)} instead`;
  return `${words.map((word) => word.text).join(" ")} — ${text(judged.own)}, head ${text(judged.gold)}: ${found}`;
}

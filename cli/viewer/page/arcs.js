// A sentence as a line of words with the attention of a head as arcs above it. Three marks look the
// same everywhere: the dependent in a box, its gold head in blue, the word that was found in orange.
import { html, svg } from "./dom.js";
import { isRightToLeft, textWidth } from "./drawing.js";

const NAMES = ["position", "text", "sentence", "index", "is_special", "surprisal", "is_shown"];
const SIZE = 15;
const FONT = 'system-ui, "Liberation Sans", Arial, sans-serif';
const GAP = 7;
const CUT = 16; // the room of …
const LEAST = 0.1; // a weaker line is not drawn
const HIGHEST = 46;
const LABEL = 12; // the height of a weight
const NOTHING = { own: null, gold: null, predicted: null, isBackward: false, isRight: true };

// What the three marks are, above examples.
export const KEY = html`<p class="key"><span class="box dependent"></span> dependent
  <span class="box gold"></span> its head <span class="box found"></span> found instead;
  numbers are weights; dotted: missed</p>`;

// The positions of a sentence in its input, with a row for each word of a position, as objects.
export const positionsOf = (record) => (
  record.positions.map((row) => Object.fromEntries(NAMES.map((name, at) => [name, row[at]]))));

// Those that are shown, with the first word of each.
export const wordsOf = (positions) => (
  positions.filter((row, at) => row.is_shown && row.position !== positions[at - 1]?.position));

// What a head does with one dependent: the positions of the dependent, of its gold head and of the
// word that it predicts, and the weights to both. Whether it is right is what the bank counts:
// of a position with several words any.
export function judge(record, { sentence, dependent, gold, direction, breakdown }) {
  const positions = positionsOf(record);
  const at = (index) => (
    positions.find((row) => row.sentence === sentence && row.index === index)?.position ?? null);
  const [own, other] = [at(dependent), at(gold)];
  const weights = new Map(record.maps.map((row) => [row.from_position, row.weights]));
  const isBackward = direction === "head_to_dependent" || (direction === "later_to_earlier" && other > own);
  const peak = record.peaks.find((row) => row.position === own);
  const predicted = (isBackward ? peak?.most_attending : peak?.most_attended) ?? null;
  const weight = (position) => {
    const [from, to] = isBackward ? [position, own] : [own, position];
    return position === null ? null : weights.get(from)?.[to] ?? null;
  };
  return {
    own, gold: other, predicted, isBackward, isRight: breakdown === "right",
    goldWeight: weight(other), predictedWeight: weight(predicted),
  };
}

// A sentence as a line of words. Below each its weight on the special tokens stands in per cent, whose
// position is a target: `isTarget`.
export function arcLine(record, sentence, given, width, isTarget = null) {
  const judged = given ?? NOTHING;
  const positions = positionsOf(record);
  const words = wordsOf(positions).filter((row) => row.sentence === sentence);
  const { places, cuts } = placed(words, judged, width);
  const middle = (position) => places.get(position).x + places.get(position).wide / 2;
  const arcs = arcsOf(record, judged, places).map((arc) => {
    const [start, end] = [middle(arc.from), middle(arc.to)];
    const [from, to] = [arc.from, arc.to].map((position) => places.get(position).word.text);
    const tip = `${from} attends to ${to}: ${arc.weight?.toFixed(2) ?? "not stored"}`;
    return { ...arc, start, end, tip, high: Math.min(HIGHEST, 12 + 0.2 * Math.abs(end - start)) };
  });
  const raised = crowdedArc(arcs);
  // A curve rises to 0.75 of its height, and its weight stands above.
  const top = 0.75 * Math.max(12, ...arcs.map((arc) => arc.high)) + 18 + (raised ? LABEL : 0);
  const base = top + SIZE;
  const { own, gold, predicted, isRight } = judged;
  const marks = [["dependent", own], ["gold", gold], ["found", isRight ? null : predicted]]
    .map(([kind, position]) => [kind, places.get(position)]);
  const mark = ([kind, { x, wide }]) => svg`<rect class=${`mark-${kind}`} x=${x - 3} y=${top}
    width=${wide + 6} height=${SIZE + 6} rx="3"></rect>`;
  const text = ({ word: { text: written }, x, wide }) => {
    const isRtl = isRightToLeft(written);
    return svg`<text x=${isRtl ? x + wide : x} y=${base} direction=${isRtl ? "rtl" : null}>${written}</text>`;
  };
  const special = isTarget && specialWeights(record, positions, isTarget);
  const below = ({ word, x, wide }) => (special.has(word.position) ? svg`<text class="weight" x=${x + wide / 2}
    y=${base + 18} text-anchor="middle">${Math.round(100 * special.get(word.position))}</text>` : null);
  const height = base + (special ? 24 : 9);
  return svg`<svg class="arcs" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} role="img"
      aria-label=${describe(words, judged)}>
    ${arcs.map((arc) => drawArc(arc, top - 2, arc === raised ? LABEL : 0))}
    ${marks.filter(([, place]) => place).map(mark)}
    ${[...places.values()].map(text)}
    ${special ? [...places.values()].map(below) : null}
    ${cuts.map((left) => svg`<text class="cut" x=${left} y=${base}>…</text>`)}
  </svg>`;
}

// The weight of each position on some special tokens, where there are any.
function specialWeights(record, positions, isTarget) {
  const special = positions.filter((row) => row.is_special && isTarget(row.position)).map((row) => row.position);
  return new Map(special.length ? record.maps.map(({ from_position: from, weights }) => (
    [from, special.reduce((sum, to) => sum + (weights[to] ?? 0), 0)])) : []);
}

// Where the words stand for which there is room, by their positions; and where others are left out.
function placed(words, judged, width) {
  const widths = words.map((word) => Math.ceil(textWidth(word.text, SIZE, FONT)) + GAP);
  const marked = [judged.own, judged.gold, judged.predicted]
    .map((position) => words.findIndex((word) => word.position === position)).filter((at) => at >= 0);
  const isRtl = words.filter((word) => isRightToLeft(word.text)).length * 2 > words.length;
  const [places, cuts] = [new Map(), []];
  let [x, next] = [4, 0];
  for (const index of [...shownWords(widths, marked, width), words.length]) {
    if (index > next) {
      cuts.push(isRtl ? width - x - CUT : x);
      x += CUT;
    }
    if (index === words.length) break;
    const wide = widths[index] - GAP;
    places.set(words[index].position, { word: words[index], wide, x: isRtl ? width - x - wide : x });
    x += widths[index];
    next = index + 1;
  }
  return { places, cuts };
}

// The indexes of the words that there is room for: the marked ones, then their neighbours.
function shownWords(widths, marked, room) {
  const distance = (index) => (marked.length ? Math.min(...marked.map((at) => Math.abs(at - index))) : index);
  const order = [...widths.keys()].sort((a, b) => distance(a) - distance(b) || a - b);
  const shown = [];
  let used = CUT * (2 + marked.length);
  for (const index of order) {
    if (used + widths[index] > room && distance(index)) break;
    used += widths[index];
    shown.push(index);
  }
  return shown.sort((a, b) => a - b);
}

// The lines of a head between words that are shown; those of the judged dependent come last, on top.
function arcsOf(record, judged, places) {
  const arcs = record.maps.flatMap(({ from_position: from, weights }) => (
    weights.map((weight, to) => ({ from, to, weight, kind: "plain" }))))
    .filter(({ from, to, weight }) => weight >= LEAST && to !== from && places.has(from) && places.has(to))
    .sort((a, b) => a.weight - b.weight);
  const own = (position, kind, weight) => {
    if (!places.has(position) || !places.has(judged.own)) return;
    const [from, to] = judged.isBackward ? [position, judged.own] : [judged.own, position];
    const others = arcs.filter((arc) => arc.from !== from || arc.to !== to);
    arcs.splice(0, arcs.length, ...others, { from, to, weight, kind });
  };
  own(judged.gold, judged.isRight ? "right" : "missed", judged.goldWeight);
  if (!judged.isRight) own(judged.predicted, "found", judged.predictedWeight);
  return arcs;
}

// Of the arcs to the missed head and to the word that was found the longer one, if their weights would
// stand on each other.
function crowdedArc(arcs) {
  const length = (arc) => Math.abs(arc.end - arc.start);
  const [one, other] = arcs.filter((arc) => arc.kind === "missed" || arc.kind === "found")
    .sort((a, b) => length(b) - length(a));
  return other && Math.abs(one.start + one.end - other.start - other.end) < 60 ? one : null;
}

function drawArc({ start, end, weight, kind, high, tip }, base, raise) {
  const isPlain = kind === "plain";
  const path = `M${start} ${base}C${start} ${base - high} ${end} ${base - high} ${end} ${base}`;
  const wide = isPlain ? 0.6 + 2 * (weight ?? 0) : 1.2 + 4 * (weight ?? 0);
  return svg`<path class=${`arc arc-${kind}`} d=${path} stroke-width=${wide.toFixed(2)}>
      <title>${tip}</title></path>
    ${isPlain ? null : svg`<text class="weight" x=${(start + end) / 2} y=${base - 0.75 * high - 3 - raise}
      text-anchor="middle">${weight?.toFixed(2)}</text>`}`;
}

function describe(words, judged) {
  const text = (position) => words.find((word) => word.position === position)?.text
    ?? "a word that is not shown";
  const instead = judged.predicted === null ? "nothing" : text(judged.predicted);
  const sentence = words.map((word) => word.text).join(" ");
  if (judged.own === null) return sentence;
  const outcome = judged.isRight ? "found" : `missed: ${instead} instead`;
  return `${sentence} — ${text(judged.own)}, head ${text(judged.gold)}: ${outcome}`;
}

// A sentence with the attention of a head: words in a line with the tree above and arcs below, or
// two columns with a line for each weight. queries/pictures/hover.js has what the columns do when they are pointed at.
import { repeat, svg } from "./dom.js";

const SIZE = 14;
const LEAST = 0.01; // of the largest weight: a weaker line is not drawn
const LEAST_ARC = 0.05; // that of an arc, of which fewer fit below a line
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const ELSEWHERE = "elsewhere in the input";

const canvas = document.createElement("canvas").getContext("2d");

function textWidth(text, size = SIZE) {
  canvas.font = `${size}px "Liberation Sans", Arial, Helvetica, sans-serif`;
  return canvas.measureText(text).width;
}

// The weight that is drawn at full width: 1, or the largest norm between two words.
function largestOf({ norms, words }, { weights }) {
  if (!norms) return 1;
  const special = new Set(words.filter((word) => word.is_special).map((word) => word.position));
  const others = weights.filter(([from, to]) => from !== to || !special.has(from)).map(([, , weight]) => weight ?? 0);
  return Math.max(0, ...others) || 1;
}

// What each weight is drawn as: { from, to (null: elsewhere), weight, share, kind, gold, entity }.
function linesOf(record, panel, { hidesSpecial, least }) {
  const special = new Set(record.words.filter((word) => word.is_special).map((word) => word.position));
  const gold = new Map(panel.gold.map(([from, to, isFound]) => [`${from} ${to}`, isFound]));
  const entities = new Map();
  for (const [entity, , , head] of record.mentions) {
    for (const [other, , , earlier] of record.mentions) if (entity === other && earlier < head) entities.set(`${head} ${earlier}`, entity);
  }
  const largest = largestOf(record, panel);
  return panel.weights.flatMap(([from, to, weight]) => {
    const key = `${from} ${to}`;
    const isSpecial = special.has(from) || to === null || special.has(to);
    const isMarked = gold.has(key) || entities.has(key);
    const share = Math.min((weight ?? 0) / largest, 1);
    if ((hidesSpecial && isSpecial) || (share < least && !isMarked)) return [];
    const kind = gold.has(key) ? "gold" : entities.has(key) ? `entity e${entities.get(key) % 5}` : isSpecial ? "special" : "plain";
    return [{ from, to, weight, share, kind, gold: gold.get(key), entity: entities.get(key), isMarked }];
  });
}

const letterOf = (entity) => String.fromCharCode(65 + (entity % 26)) + (entity >= 26 ? Math.floor(entity / 26) : "");

// Lanes for the bars of mentions, so that those that overlap stand side by side.
function lanesOf(mentions) {
  const ends = [];
  return mentions.map(([, first, last]) => {
    let lane = ends.findIndex((end) => end < first);
    if (lane < 0) lane = ends.length;
    ends[lane] = last;
    return lane;
  });
}

const ROW = 21;
const ACROSS = 120;
const LANE = 14;

// The two columns of a head: the left one attends to the right one.
export function columns(record, panel, number, options = {}) {
  const words = options.hidesSpecial ? record.words.filter((word) => !word.is_special) : record.words;
  const lines = linesOf(record, panel, { ...options, least: LEAST });
  const lanes = lanesOf(record.mentions);
  const beside = (Math.max(-1, ...lanes) + 1) * LANE;
  const column = Math.max(0, ...words.map((word) => textWidth(word.text))) + 8;
  const hasElsewhere = lines.some((line) => line.to === null);
  const [left, right] = [beside + column + 8, beside + column + 8 + ACROSS];
  const y = new Map(words.map((word, at) => [word.position, 8 + (at + 0.5) * ROW]));
  const elsewhere = 8 + (words.length + 0.9) * ROW;
  const width = right + Math.max(column + beside, hasElsewhere ? textWidth(ELSEWHERE) + 8 : 0) + 8;
  const height = 16 + (words.length + (hasElsewhere ? 1.4 : 0)) * ROW;
  const yOf = (position) => (position === null ? elsewhere : y.get(position));
  const text = (word, x, end, attributes = "") => svg`${word.is_matched ? svg`<rect class="matched" x=${end ? x - textWidth(word.text) - 2 : x - 2} y=${y.get(word.position) - 9.5} width=${textWidth(word.text) + 4} height="19" rx="2"></rect>` : null}<text class=${word.is_special ? "faint" : null} x=${x} y=${y.get(word.position) + 5} text-anchor=${end ? "end" : "start"} direction=${RIGHT_TO_LEFT.test(word.text) ? "rtl" : null}>${word.text}</text>`;
  return svg`<svg class="columns-drawing" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`What ${panel.name} attends to`}>
    <g class="panel" id=${`panel${number}`} data-name=${panel.name} data-layer=${panel.layer} data-head=${panel.head} data-sentence=${record.name}>
      ${record.mentions.map(([entity, first, last, head], at) => [beside - LANE * (lanes[at] + 0.5), right + column + LANE * (lanes[at] + 0.5) - 4].map((x) => (y.has(first) && y.has(last) ? svg`<rect class=${`mention e${entity % 5}`} x=${x - 1.5} y=${y.get(first) - 8.4} width="3" height=${y.get(last) - y.get(first) + 16.8} rx="1.5"></rect>
        <text class=${`letter e${entity % 5}`} x=${x + 2.5} y=${(y.get(head) ?? y.get(first)) + 4.2}>${letterOf(entity)}</text>` : null)))}
      ${words.map((word) => svg`<g class="from" data-position=${word.position} data-index=${word.index}>
        ${lines.filter((line) => line.from === word.position).map((line) => drawLine(line, [left, y.get(line.from)], [right, yOf(line.to)]))}
        ${text(word, left - 5, true)}</g>
        <g class="to" data-position=${word.position} data-index=${word.index}>${text(word, right + 5, false)}</g>`)}
      ${hasElsewhere ? svg`<g class="to" data-position="elsewhere"><text class="faint" x=${right + 5} y=${elsewhere + 5}>${ELSEWHERE}</text></g>` : null}
    </g></svg>`;
}

function drawLine({ from, to, weight, share, kind, gold, isMarked }, [x1, y1], [x2, y2]) {
  const target = to === null ? "elsewhere" : to;
  const mark = isMarked ? svg`<g class=${`arc ${kind}`} data-from=${from} data-to=${target}><path class="dots" d=${`M${x1} ${y1}L${x2} ${y2}`}></path>
    ${gold === undefined ? null : svg`<circle class=${gold ? "ring found" : "ring"} cx=${x2} cy=${y2} r="2.8"></circle>`}</g>` : null;
  return svg`${mark}<line class=${`line ${kind}`} x1=${x1} y1=${y1} x2=${x2} y2=${y2} stroke-opacity=${share.toFixed(3)} stroke-width=${(0.5 + 2.5 * share).toFixed(2)}
    data-from=${from} data-to=${target} data-weight=${weight === null ? null : Number(weight.toPrecision(9))} data-gold=${gold === undefined ? null : gold ? "found" : "missed"}></line>`;
}

const SPACE = 12; // between two words of a line
const LEVEL = 15; // a level of arcs
const FOOT = 26; // the words and their tags
const BAR = 5; // a mention under its words

// The words in a line, wrapped to a width, with the tree above and the head's attention below.
export function line(record, panel, tree, width, options = {}) {
  const words = options.hidesSpecial ? record.words.filter((word) => !word.is_special) : record.words;
  const surprisal = record.surprisal ?? {};
  const most = Math.max(0, ...Object.values(surprisal));
  const isRtl = words.filter((word) => RIGHT_TO_LEFT.test(word.text)).length * 2 > words.length;
  const rows = [[]];
  let used = 0;
  for (const word of words) {
    const wide = Math.max(textWidth(word.text), 10) + SPACE;
    if (used + wide > width && rows.at(-1).length) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1).push({ word, x: isRtl ? width - used - wide + SPACE / 2 : used + SPACE / 2, wide: wide - SPACE });
    used += wide;
  }
  const places = new Map(rows.flatMap((row, at) => row.map((place) => [place.word.position, { ...place, row: at, middle: place.x + place.wide / 2 }])));
  const treeArcs = tree ? tree.heads.flatMap((head, at) => (head === null ? [] : [{ from: tree.positions[head], to: tree.positions[at], label: tree.relations[at] ?? "", isWrong: tree.wrong.includes(at) }])) : [];
  const lines = linesOf(record, panel, { ...options, least: LEAST_ARC }).filter((arc) => arc.to !== null && arc.from !== arc.to);
  const pieces = (arcs) => rows.map((_, row) => levelled(arcs.flatMap((arc) => pieceIn(arc, places, row, width, isRtl))));
  const [above, below] = [pieces(treeArcs), pieces(lines)];
  const lanes = lanesOf(record.mentions);
  let y = 0;
  const drawnRows = rows.map((row, at) => {
    const heightAbove = LEVEL * (1 + Math.max(0, ...above[at].map((piece) => piece.level))) + (above[at].length ? 6 : 0);
    const heightBelow = 10 + Math.min(110, LEVEL * Math.max(0, ...below[at].map((piece) => piece.level)));
    const base = y + heightAbove + SIZE;
    const bars = record.mentions.flatMap(([entity, first, last], mention) => {
      const own = row.filter(({ word }) => word.position >= first && word.position <= last);
      return own.length ? [{ entity, lane: lanes[mention], left: Math.min(...own.map(({ x }) => x)), right: Math.max(...own.map(({ x, wide }) => x + wide)) }] : [];
    });
    const foot = base + 6 + BAR * (1 + Math.max(-1, ...bars.map(({ lane }) => lane)));
    y = foot + FOOT - SIZE - 6 + heightBelow + 8;
    return svg`<g class="text-row">
      ${above[at].map((piece) => treeArc(piece, base - SIZE - 2))}
      ${below[at].map((piece) => attentionArc(piece, foot, 110 / Math.max(110, LEVEL * Math.max(1, ...below[at].map((other) => other.level)))))}
      ${repeat(row, ({ word }) => word.position, ({ word, x, wide }) => svg`<g class="word" tabindex="0" data-position=${word.position}>
        <title>${word.index in surprisal ? `${word.text}: surprisal ${surprisal[word.index].toFixed(2)} nats` : word.text}</title>
        ${word.is_matched ? svg`<rect class="matched" x=${x - 2} y=${base - SIZE + 1} width=${wide + 4} height=${SIZE + 5} rx="2"></rect>` : null}
        ${word.index in surprisal ? svg`<rect class="shade" x=${x - 2} y=${base - SIZE + 1} width=${wide + 4} height=${SIZE + 5} rx="2" fill-opacity=${(0.7 * surprisal[word.index] / (most || 1)).toFixed(2)}></rect>` : null}
        <text class=${word.is_special ? "faint" : null} x=${RIGHT_TO_LEFT.test(word.text) ? x + wide : x} y=${base} direction=${RIGHT_TO_LEFT.test(word.text) ? "rtl" : null}>${word.text}</text></g>`)}
      ${bars.map(({ entity, lane, left, right }) => svg`<rect class=${`mention e${entity % 5}`} x=${left} y=${base + 5 + BAR * lane} width=${right - left} height="3" rx="1.5"></rect>
        <text class=${`letter e${entity % 5}`} x=${right + 1} y=${base + 9 + BAR * lane}>${letterOf(entity)}</text>`)}
    </g>`;
  });
  return svg`<svg class="line-drawing" width=${width} height=${Math.ceil(y)} viewBox=${`0 0 ${width} ${Math.ceil(y)}`} role="group" aria-label=${`What ${panel.name} attends to`}
      @pointerover=${(event) => point(event)} @pointerout=${(event) => release(event)} @focusin=${(event) => point(event)} @focusout=${(event) => release(event)}>${drawnRows}</svg>`;
}

// The part of an arc that is in a row of words; an arc between two rows goes on at their edges.
function pieceIn(arc, places, row, width, isRtl) {
  const [from, to] = [places.get(arc.from), places.get(arc.to)];
  if (!from || !to || row < Math.min(from.row, to.row) || row > Math.max(from.row, to.row)) return [];
  const [first, last] = isRtl ? [width, 0] : [0, width];
  const end = (place, other) => (place.row === row ? place.middle : place.row < row ? first : last);
  const [start, stop] = [end(from, to), end(to, from)];
  return [{ ...arc, start, stop, isCut: from.row !== to.row, hasEnd: to.row === row }];
}

// Arcs with the level at which each is free of those beneath it.
function levelled(pieces) {
  const placed = [];
  const reach = (piece) => [Math.min(piece.start, piece.stop), Math.max(piece.start, piece.stop)];
  for (const piece of pieces.toSorted((a, b) => Math.abs(a.start - a.stop) - Math.abs(b.start - b.stop))) {
    const [low, high] = reach(piece);
    const beneath = placed.filter((other) => {
      const [least, most] = reach(other);
      return least < high && most > low;
    });
    placed.push({ ...piece, level: 1 + Math.max(0, ...beneath.filter((other) => {
      const [least, most] = reach(other);
      return least >= low && most <= high;
    }).map((other) => other.level)) });
  }
  return placed;
}

function treeArc({ start, stop, label, level, isWrong, hasEnd }, base) {
  const high = base - LEVEL * level;
  const turn = Math.min(8, Math.abs(stop - start) / 2) * Math.sign(stop - start || 1);
  // Over a short arc the subtype would stand over the labels beside it.
  const text = textWidth(label, 10.5) > Math.abs(stop - start) + 12 ? label.split(":")[0] : label;
  return svg`<g class=${isWrong ? "tree-arc wrong" : "tree-arc"}><path d=${`M${start} ${base}V${high + 6}q0 -6 ${turn} -6H${stop - turn}q${turn} 0 ${turn} 6V${base}`}></path>
    ${hasEnd ? svg`<path class="tip" d=${`M${stop - 3} ${base - 5}h6l-3 5z`}></path>` : null}
    <title>${label}</title><text x=${Math.max((start + stop) / 2, textWidth(text, 10.5) / 2 + 2)} y=${high - 2} text-anchor="middle">${text}</text></g>`;
}

function attentionArc({ from, to, start, stop, level, weight, share, kind, gold, isMarked }, base, squeeze) {
  const deep = base + (8 + LEVEL * level * squeeze) / 0.75;
  const path = `M${start} ${base}C${start} ${deep} ${stop} ${deep} ${stop} ${base}`;
  return svg`<g class=${`attention ${kind}`} data-from=${from} data-to=${to}>
    ${isMarked ? svg`<path class="dots" d=${path}></path>` : null}
    <path class=${`line ${kind}`} d=${path} stroke-opacity=${Math.max(0.12, share).toFixed(3)} stroke-width=${(0.6 + 3.4 * share).toFixed(2)} data-from=${from} data-to=${to}
      data-weight=${weight === null ? null : Number(weight.toPrecision(9))} data-gold=${gold === undefined ? null : gold ? "found" : "missed"}></path>
    ${gold === undefined ? null : svg`<circle class=${gold ? "ring found" : "ring"} cx=${stop} cy=${base} r="3"></circle>`}
    <text class="weight" x=${(start + stop) / 2} y=${base + 0.75 * (deep - base) + 9} text-anchor="middle">${weight === null ? "" : weight.toFixed(2)}</text></g>`;
}

// The arcs from the word under the pointer stand out, with their weights.
function point(event) {
  const word = event.target.closest(".word");
  const drawing = event.currentTarget;
  if (!word) return;
  drawing.classList.add("pointed");
  for (const arc of drawing.querySelectorAll(".attention")) arc.classList.toggle("shown", arc.dataset.from === word.dataset.position);
}

function release(event) {
  if (event.currentTarget.contains(event.relatedTarget) && event.relatedTarget.closest?.(".word")) return;
  event.currentTarget.classList.remove("pointed");
}

// A tree by itself: words with arcs above them, wrapped.
export function treeDrawing(tree, width) {
  const words = tree.words.map((text, at) => ({ text, position: tree.positions[at], index: at + 1, is_special: false, is_matched: false }));
  return line({ words, mentions: [], norms: false }, { name: "the tree", weights: [], gold: [] }, tree, width);
}

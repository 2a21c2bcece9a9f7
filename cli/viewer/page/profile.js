// What one head does: its relations beside the best fixed offset, its behaviours beside chance, and
// beside the same head with random weights where the bank has such a control.
import { html, svg } from "./dom.js";
import { Fault } from "./fault.js";
import { headName, percent, written } from "./measures.js";

const WIDE = 440;
const LEFT = 150;
const RIGHT = 52;
const ROW = 21;
const MOST = 8;
const ARROWS = { dependent_to_head: "→", head_to_dependent: "←", later_to_earlier: "⇠" };

const x = (share) => LEFT + share * (WIDE - LEFT - RIGHT);

// Everything that profiles of the heads of a run are made of.
export async function profileData(bank, run) {
  const { connector } = bank;
  const answer = async (id, name, parameters) => {
    if (id === null || id === undefined) return [];
    try {
      return await connector.answer(id, name, parameters);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return []; // what it is read for is left out; the small grids say why
    }
  };
  const both = (name) => Promise.all([answer(run.id, name), answer(run.control, name)]);
  const [best, heldOut, control, positions, special, entropy] = await Promise.all([
    profileOfRun(connector, run), answer(run.id, "best_head_held_out"),
    answer(run.control, "head_accuracy"), both("relative_position"), both("special_tokens"), both("entropy"),
  ]);
  const column = (rows, name) => new Map(rows.filter((row) => typeof row[name] === "number").map((row) => [headName(row.layer, row.head), row[name]]));
  const share = (rows) => new Map(rows.map((row) => [headName(row.layer, row.head), row.entropy / row.uniform]));
  const behaviour = (label, [own, other], name, chance) => ({ label, values: column(own, name), chances: chance ? column(own, chance) : null, control: column(other, name) });
  return {
    best, heldOut, scores: new Map(),
    controlAccuracy: new Map(control.map((row) => [`${row.relation} ${row.direction} ${headName(row.layer, row.head)}`, row.accuracy])),
    behaviours: [
      behaviour("previous token", positions, "previous", "previous_chance"),
      behaviour("next token", positions, "next", "next_chance"),
      behaviour("itself", positions, "self", "chance"),
      behaviour("[CLS]", special, "cls", "cls_chance"),
      behaviour("[SEP]", special, "sep", "sep_chance"),
      behaviour("first token", special, "first", "first_chance"),
      behaviour(". and ,", special, "punctuation", "punctuation_chance"),
      { label: "entropy (of uniform)", values: share(entropy[0]), chances: null, control: share(entropy[1]) },
    ].filter((row) => row.values.size),
  };
}

async function profileOfRun(connector, run) {
  try {
    return await connector.profile(run.id);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [];
  }
}

// The profile of a head, from answers that are there already.
export function profileOf(data, head) {
  const same = (row) => headName(row.layer, row.head) === head;
  const relations = data.best.filter((row) => same(row) && row.gain > 0).slice(0, MOST);
  return {
    head,
    relations: relations.map((row) => ({
      ...row,
      score: data.scores.get(row.relation)?.find((score) => same(score) && score.direction === row.direction) ?? null,
      heldOut: data.heldOut.find((other) => same(other) && other.relation === row.relation && other.direction === row.direction)?.accuracy ?? null,
      control: data.controlAccuracy.get(`${row.relation} ${row.direction} ${head}`) ?? null,
    })),
    behaviours: data.behaviours.map(({ label, values, chances, control }) => ({
      label, value: values.get(head) ?? null, chance: chances?.get(head) ?? null, control: control?.get(head) ?? null,
    })).filter((row) => row.value !== null),
  };
}

// The one sentence about a head: what it finds of a relation, beside what needs no head.
export function headline(head, score, { what, heldOut = null, control = null }) {
  const parts = [`best fixed offset (${score.offset > 0 ? "+" : ""}${score.offset}): ${percent(score.offset_accuracy)}`];
  if (heldOut !== null) parts.push(`held out: ${percent(heldOut)}`);
  if (control !== null) parts.push(`random weights: ${percent(control)}`);
  const interval = typeof score.low !== "number" ? "" : ` (95 % interval ${Math.round(100 * score.low)}–${percent(score.high)})`;
  return html`Head <strong>${head}</strong> finds ${percent(score.accuracy)}${interval} of ${score.n.toLocaleString("en")} ${what}; ${parts.join("; ")}.`;
}

export function drawProfile(profile, beside, { relation, direction, choose }) {
  const other = new Map((beside?.relations ?? []).map((row) => [`${row.relation} ${row.direction}`, row]));
  const rows = profile.relations;
  return html`
    ${rows.length ? html`<h3>Relations it finds above a fixed offset</h3>` : null}
    ${rows.length ? svg`<svg class="profile" viewBox=${`0 0 ${WIDE} ${rows.length * ROW + 22}`} role="group" aria-label="Relations">
      ${axis(rows.length * ROW)}
      ${rows.map((row, at) => relationRow(row, at * ROW, other.get(`${row.relation} ${row.direction}`), {
        isChosen: row.relation === relation && row.direction === direction, choose,
      }))}
    </svg>` : null}
    ${rows.length ? null : html`<p class="hint">It finds no relation above the best fixed offset.</p>`}
    ${rows.length ? html`<p class="key"><span class="dot sure"></span> accuracy, with its 95 % interval <span class="dot unsure"></span> not significant <span class="tick"></span> best fixed offset <span class="dot held"></span> held out <span class="dot control"></span> random weights</p>` : null}
    <h3>Where its attention goes</h3>
    ${svg`<svg class="profile" viewBox=${`0 0 ${WIDE} ${profile.behaviours.length * ROW + 22}`} role="group" aria-label="Behaviours">
      ${axis(profile.behaviours.length * ROW)}
      ${profile.behaviours.map((row, at) => behaviourRow(row, at * ROW, beside?.behaviours.find((mine) => mine.label === row.label)))}
    </svg>`}
    <p class="key"><span class="dot sure"></span> share of its weight <span class="tick"></span> uniform attention <span class="dot control"></span> random weights${beside ? html` <span class="dot beside"></span> head ${beside.head}` : null}</p>`;
}

// The mean over some heads of values by head; a head without a value is left out.
export function meanOf(heads, values) {
  const known = [...heads].map((name) => values.get(name) ?? null).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

export const drawMeans = (heads, rows) => html`<h2>Mean of ${heads.size} heads</h2>
  <table><caption>${[...heads].join(", ")}</caption><tbody>${rows.map((row) => html`<tr><th scope="row">${row.label}</th><td class="number">${written(meanOf(heads, row.values), false)}</td></tr>`)}</tbody></table>`;

function axis(height) {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => svg`<line class="rule" x1=${x(share)} x2=${x(share)} y1="0" y2=${height}></line>
    <text class="axis" x=${x(share)} y=${height + 14} text-anchor="middle">${Math.round(100 * share)}</text>`);
}

function relationRow(row, top, beside, { isChosen, choose }) {
  const middle = top + ROW / 2;
  const isSure = row.p_corrected !== null && row.p_corrected < 0.05;
  const label = `${row.relation} ${ARROWS[row.direction] ?? ""}`;
  const described = `${row.relation}, ${row.direction.replaceAll("_", " ")}: ${percent(row.accuracy)} of ${row.n}; fixed offset ${row.offset}: ${percent(row.offset_accuracy)}${row.heldOut === null ? "" : `; held out ${percent(row.heldOut)}`}${row.control === null ? "" : `; random weights ${percent(row.control)}`}`;
  return svg`<g class=${isChosen ? "row chosen" : "row"} tabindex="0" role="button" aria-label=${described}
      @click=${() => choose(row)} @keydown=${(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(row); } }}>
    <title>${described}</title>
    <rect class="ground" x="0" y=${top} width=${WIDE} height=${ROW}></rect>
    <text x="4" y=${middle + 4}>${label}</text>
    ${row.score?.low === null || !row.score ? null : svg`<line class="interval" x1=${x(row.score.low)} x2=${x(row.score.high)} y1=${middle} y2=${middle}></line>`}
    <line class="offset" x1=${x(row.offset_accuracy)} x2=${x(row.offset_accuracy)} y1=${middle - 7} y2=${middle + 7}></line>
    ${row.control === null ? null : svg`<circle class="control" cx=${x(row.control)} cy=${middle} r="3.5"></circle>`}
    ${row.heldOut === null ? null : svg`<circle class="held" cx=${x(row.heldOut)} cy=${middle} r="3"></circle>`}
    ${beside ? svg`<path class="beside" d=${`M${x(beside.accuracy)} ${middle - 5}l5 5l-5 5l-5 -5z`}></path>` : null}
    <circle class=${isSure ? "value sure" : "value"} cx=${x(row.accuracy)} cy=${middle} r="4.5"></circle>
    <text class="n" x=${WIDE - 2} y=${middle + 4} text-anchor="end">n ${row.n.toLocaleString("en")}</text>
  </g>`;
}

function behaviourRow(row, top, beside) {
  const middle = top + ROW / 2;
  return svg`<g class="row">
    <title>${`${row.label}: ${row.value.toFixed(3)}${row.chance === null ? "" : `; uniform attention ${row.chance.toFixed(3)}`}${row.control === null ? "" : `; random weights ${row.control.toFixed(3)}`}`}</title>
    <text x="4" y=${middle + 4}>${row.label}</text>
    ${row.chance === null ? null : svg`<line class="offset" x1=${x(row.chance)} x2=${x(row.chance)} y1=${middle - 7} y2=${middle + 7}></line>`}
    ${row.control === null ? null : svg`<circle class="control" cx=${x(row.control)} cy=${middle} r="3.5"></circle>`}
    ${beside ? svg`<path class="beside" d=${`M${x(beside.value)} ${middle - 5}l5 5l-5 5l-5 -5z`}></path>` : null}
    <circle class="value sure" cx=${x(row.value)} cy=${middle} r="4.5"></circle>
    <text class="n" x=${WIDE - 2} y=${middle + 4} text-anchor="end">${row.value.toFixed(2)}</text>
  </g>`;
}

// What one head does: its relations beside the best fixed offset, its behaviours beside chance, and
// beside the same head with random weights where the bank has such a control.
import { Frame, groupBy } from "./cells.js";
import { thousands } from "./context.js";
import { html, svg } from "./dom.js";
import { attempt } from "./fault.js";
import { hint, inWords } from "./forms.js";
import { byHead, FAMILY, headOf, isKnown, isSignificant, ofRelation, pairOf, percent, written } from "./measures.js";

const WIDE = 440;
const LEFT = 162;
const RIGHT = 52;
const ROW = 21;
export const MOST = 8; // relations of a head
export const ARROWS = { dependent_to_head: "→", head_to_dependent: "←", later_to_earlier: "⇠" };

const x = (share) => LEFT + share * (WIDE - LEFT - RIGHT);

// What cannot be answered is left out; the small grids say why.
const rowsOf = async (frame) => (await attempt(frame))[0]?.rows ?? [];
const answer = (connector, id, name, given) => (id ? rowsOf(() => connector.answer(id, name, given)) : []);

// What the heads of a run find: what each gains over fixed offsets (`best`), and the head that gains most
// on each relation (`relations`). `beside`, `behaviours` and `effects` are added once they are there.
export async function profileData(bank, run) {
  const [frame] = await attempt(() => bank.connector.frame(`/profiles/${run.id}.json`));
  const rowsIn = (name) => (frame ? new Frame(frame[name]).rows : []);
  return {
    best: frame?.rows ?? [], relations: rowsIn("relations"), unfound: rowsIn("unfound"), first: frame?.first,
    heldOut: [], control: [], counted: null, scores: new Map(), behaviours: null,
  };
}

// What stands beside the accuracies of a run: on text that a head was not chosen on, and of random weights.
export async function besideOf(bank, run) {
  const [heldOut, control] = await Promise.all([
    answer(bank.connector, run.id, "best_head_held_out"), answer(bank.connector, run.control, "head_accuracy"),
  ]);
  return { heldOut, control };
}

// `behaviours`: where the attention of all heads of a run goes, beside uniform attention and the control.
export async function behavioursOf(bank, run) {
  const [frame] = await attempt(() => bank.connector.frame(`/behaviours/${run.id}.json`));
  const byLabel = [...groupBy(frame?.rows ?? [], ({ label }) => label)];
  return {
    behaviours: byLabel.map(([label, own]) => ({ label, ofHeads: byHead(own, (row) => row) })),
    leftOut: frame?.notes ?? [],
  };
}

// `effects`: what the model loses without each head, and without the edges of relations.
export const effectsOf = async (bank, run) => (
  { effects: await rowsOf(() => bank.connector.frame(`/effects/${run.id}.json`)) });

// One such loss in words; `link` leads to its rows, and `ofAll` is that of edges for all words.
export function lossOf({ edges, heads, name, ablation, ...row }, link, ofAll) {
  const { n, difference, low, high, controls, control_mean: ofControls, p } = row;
  const signed = (value) => (value > 0 ? "+" : "") + written(value);
  const [relation, ...kind] = edges?.split(", ") ?? [];
  const without = edges ? `the edges of ${relation} (${inWords(kind.join(", "))}) in ${
    heads === "all" ? "all heads" : `the heads of the set ${name}`}` : `head ${heads}`;
  const interval = isKnown(low) ? ` (95 % interval ${signed(low)} to ${signed(high)})` : "";
  const beside = controls ? `; without ${edges ? "as many random edges" : "a random head"}: ${signed(ofControls)}` : "";
  return html`Without ${without}: <strong>${signed(difference)}</strong> nats a word${interval}, over ${thousands(n)}
    words${edges ? " that lost one" : ""}${beside}${isKnown(p) ? `, p ${written(p)}` : ""}${
      ofAll ? `; over all words: ${signed(ofAll.difference)}` : ""}.
    Ablation <a href=${link}>${ablation}</a>.`;
}

// All that is known of how well a head finds a relation in a direction. A head that gains nothing has no row
// of its own: what it finds is in `counted`, beside the offset that all heads share. Null if nothing is known.
export function scoreOf(data, name, { relation, direction }, counted = null) {
  const [layer, head] = pairOf(name);
  const isOf = (row) => row.direction === direction && (row.relation ?? relation) === relation;
  const rowIn = (rows) => rows?.find((row) => row.layer === layer && row.head === head && isOf(row));
  const score = rowIn(data.best) ?? rowIn(data.relations) ?? rowIn(data.scores.get(relation));
  const [heldOut, control] = [data.heldOut, data.control].map((rows) => rowIn(rows)?.accuracy ?? null);
  if (score) return { heldOut, control, ...score };
  const { offset, offset_accuracy: byOffset, tried } = data.relations.find(isOf) ?? {};
  if (!counted || !isKnown(byOffset) || !isKnown(counted.accuracy)) return null;
  const { n, accuracy } = counted;
  const gain = (Math.round(accuracy * n) - Math.round(byOffset * n)) / n; // rounded once, as share_above
  return { n, accuracy, gain, offset, offset_accuracy: byOffset, tried, heldOut, control };
}

// How well all heads find a relation that is tested by itself, beside held-out text and random weights.
export async function testedScores(connector, run, relation) {
  const given = ofRelation(relation);
  const [scores, [test], control] = await Promise.all([
    answer(connector, run.id, "head_score", given), answer(connector, run.id, "best_head_test", given),
    answer(connector, run.control, "head_accuracy", given),
  ]);
  const isSameHead = (row) => (other) => headOf(other) === headOf(row) && other.direction === row.direction;
  return scores.map((row) => ({
    ...row, tried: scores.length, family: FAMILY, control: control.find(isSameHead(row))?.accuracy ?? null,
    heldOut: test && isSameHead(row)(test) ? test.held_out_accuracy : null,
  }));
}

// Whether a score is more than a fixed offset gives, in words.
export function verdict({ n, gain, p_corrected: p, tried, family }) {
  if (!isKnown(gain)) return "no fixed offset to compare with";
  if (gain <= 0) return "it does not beat the offset";
  if (!isKnown(p)) return n < 10 ? "too few to test" : "too few documents to test";
  const corrected = tried ? `, corrected for the ${thousands(tried)} ${family ?? "heads, directions and relations tried"}` : "";
  const written = p < 0.001 ? "p < 0.001" : `p ${Number(p.toPrecision(2))}`;
  return `${p < 0.05 ? "" : "not "}significantly above the offset (${written}${corrected})`;
}

// What a head does, from answers that are there already; also of relations that a head beside it finds.
export function profileOf(data, head, beside = null) {
  const isGain = (name) => (row) => headOf(row) === name && row.gain > 0;
  const own = data.best.filter(isGain(head)).slice(0, MOST);
  const others = data.best.filter(isGain(beside)).slice(0, MOST).filter((row) => !own.some((one) => isSame(one, row)));
  const isOf = (row) => (one) => headOf(one) === head && isSame(one, row);
  return {
    head, isJudged: data.relations.length > 0, leftOut: data.leftOut,
    behaviours: data.behaviours?.map(({ ofHeads }) => ofHeads.get(head)).filter(Boolean),
    relations: [...own, ...others].map(({ relation, direction }) => {
      const of = { relation, direction };
      return { ...of, ...scoreOf(data, head, of, data.counted?.find(isOf(of))) };
    }).filter((row) => isKnown(row.accuracy)),
  };
}

// The one sentence about a head: what it finds of a relation, beside what needs no head.
export function headline(head, score, what) {
  const { accuracy, low, high, n, offset, heldOut, control } = score;
  const parts = [`best fixed offset (${offset > 0 ? "+" : ""}${offset}): ${percent(score.offset_accuracy)}`];
  if (isKnown(heldOut)) parts.push(`held out: ${percent(heldOut)}`);
  if (isKnown(control)) parts.push(`${score.isOfBestControl ? "best head of " : ""}random weights: ${percent(control)}`);
  const interval = isKnown(low) ? ` (95 % interval ${Math.round(100 * low)}–${percent(high)})` : "";
  return html`Head <strong>${head}</strong> finds ${percent(accuracy)}${interval} of ${thousands(n)}
    ${what}; ${parts.join("; ")}; <strong>${verdict(score)}</strong>.`;
}

// `judged` is the relation that is chosen, and its direction; `choose` is called with another one.
export function drawProfile(profile, beside, judged, choose) {
  const { relations, behaviours, leftOut = [] } = profile;
  const hasControl = [...relations, ...behaviours ?? []].some(({ control }) => isKnown(control));
  const control = hasControl ? html` <span class="dot control"></span> same head, random weights` : null;
  const other = (relation) => beside?.relations.find((row) => isSame(row, relation))?.accuracy;
  return html`
    ${relations.length ? html`<h3>Relations by their gain over a fixed offset</h3>
      ${drawing("Relations", relations.map((row, at) => relationRow(row, at * ROW, other(row), {
        isChosen: isSame(row, judged), choose,
      })))}
      <p class="key"><span class="dot sure"></span> accuracy, with its 95 % interval
        <span class="dot unsure"></span> not significant <span class="tick"></span> best fixed offset
        <span class="dot held"></span> held out${control}${
          beside ? html` <span class="dot beside"></span> head ${beside.head}` : null}<br>
        Found → of all other words, the dependent attends most to its head; ← its head attends most to it;
        ⇠ either of these, from the later to the earlier word. An interval is of one head, without the correction.</p>`
    : html`<p class="hint">${profile.isJudged ? "It finds no relation above the best fixed offset."
      : "The corpus has no dependencies to judge it by."}</p>`}
    <h3>Where its attention goes</h3>
    ${behaviours ? drawing("Behaviours", behaviours.map((row, at) => behaviourRow(
      row, at * ROW, beside?.behaviours.find(({ label }) => label === row.label)?.value,
    ))) : html`<p class="hint">Loading…</p>`}
    <p class="key"><span class="dot sure"></span> share of its weight
      <span class="tick"></span> uniform attention${control}${beside
        ? html` <span class="dot beside"></span> head ${beside.head}` : null}<br>
      A token may count in several rows.</p>
    ${leftOut.map(hint)}`;
}

const isSame = (one, other) => one.relation === other.relation && one.direction === other.direction;

// The mean over some heads; one without a value is left out.
export function meanOf(heads, valueOf) {
  const known = [...heads].map(valueOf).filter(isKnown);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
}

export function drawMeans(heads, behaviours) {
  const row = ({ label, ofHeads }) => html`<tr><th scope="row">${label}</th>
    <td class="number">${written(meanOf(heads, (head) => ofHeads.get(head)?.value), true)}</td></tr>`;
  return html`<h2>Mean of ${heads.size} heads</h2>
    <table><caption>${[...heads].join(", ")}</caption><tbody>${behaviours.map(row)}</tbody></table>`;
}

function drawing(label, rows) {
  const height = rows.length * ROW;
  return svg`<svg class="profile" viewBox=${`0 0 ${WIDE} ${height + 22}`} role="group" aria-label=${label}>
    ${[0, 0.25, 0.5, 0.75, 1].map((share) => svg`${stroke("rule", [x(share), x(share)], [0, height])}
      <text class="axis" x=${x(share)} y=${height + 14} text-anchor="middle">${share === 1 ? percent(1) : 100 * share}</text>`)}
    ${rows}</svg>`;
}

const stroke = (kind, [x1, x2], [y1, y2]) => (
  svg`<line class=${kind} x1=${x1} x2=${x2} y1=${y1} y2=${y2}></line>`);

function relationRow(row, top, beside, { isChosen, choose }) {
  const { relation, direction, accuracy, low, high, n, offset, heldOut, control } = row;
  const byOffset = row.offset_accuracy;
  const also = [["held out", heldOut], ["random weights", control]].filter(([, value]) => isKnown(value));
  const described = [
    `${relation}, ${inWords(direction)}: ${percent(accuracy)} of ${n}`,
    `fixed offset ${offset}: ${percent(byOffset)}`,
    ...also.map(([what, value]) => `${what} ${percent(value)}`),
  ].join("; ");
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(row);
  };
  const middle = top + ROW / 2;
  return svg`<g class=${isChosen ? "row chosen" : "row"} tabindex="0" role="button" aria-label=${described}
      @click=${() => choose(row)} @keydown=${press}>
    <title>${described}</title>
    <rect class="ground" x="0" y=${top} width=${WIDE} height=${ROW}></rect>
    ${isKnown(low) ? stroke("interval", [x(low), x(high)], [middle, middle]) : null}
    ${marks(middle, `${relation} ${ARROWS[direction] ?? ""}`, {
      value: accuracy, isSure: isSignificant(row), chance: byOffset, heldOut, control, beside,
      number: `n ${thousands(n)}`,
    })}</g>`;
}

function behaviourRow({ label, value, chance, control }, top, beside) {
  const all = [[`${label}:`, value], ["uniform attention", chance], ["random weights", control]];
  const described = all.filter(([, share]) => isKnown(share))
    .map(([what, share]) => `${what} ${share.toFixed(3)}`);
  const number = percent(value);
  return svg`<g class="row"><title>${described.join("; ")}</title>
    ${marks(top + ROW / 2, label, { value, isSure: true, chance, control, beside, number })}</g>`;
}

// The marks of a row: the value of the head, and what it is compared with.
function marks(middle, label, { value, isSure, chance, heldOut, control, beside, number }) {
  const ifKnown = (known, draw) => (isKnown(known) ? draw(x(known)) : null);
  return svg`<text x="4" y=${middle + 4}>${label}</text>
    ${ifKnown(chance, (at) => stroke("offset", [at, at], [middle - 7, middle + 7]))}
    ${ifKnown(control, (at) => svg`<circle class="control" cx=${at} cy=${middle} r="3.5"></circle>`)}
    ${ifKnown(heldOut, (at) => svg`<circle class="held" cx=${at} cy=${middle} r="3"></circle>`)}
    ${ifKnown(beside, (at) => svg`<path class="beside" d=${`M${at} ${middle - 5}l5 5l-5 5l-5 -5z`}></path>`)}
    <circle class=${isSure ? "value sure" : "value"} cx=${x(value)} cy=${middle} r="4.5"></circle>
    <text class="n" x=${WIDE - 2} y=${middle + 4} text-anchor="end">${number}</text>`;
}

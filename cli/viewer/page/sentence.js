// Three views: one sentence with the attention of some heads, all heads on one sentence, and a
// sentence that is typed. drawing.js draws them.
import { Frame } from "./cells.js";
import { command, shell } from "./commands.js";
import { columns, line, treeDrawing } from "./drawing.js";
import { html, svg } from "./dom.js";
import { attempt } from "./fault.js";
import {
  choice, directionBox, faultBox, field, hint, moreOptions, runBox, runLine, tick, wide,
} from "./forms.js";
import { layerTable } from "./grids.js";
import { capitalised, table } from "./tables.js";

const SOURCES = ["head", "layer", "all", "ensemble"];
const LAYOUTS = [["line", "words in a line"], ["columns", "two columns"]];

const FEW_NEED = ["run", "layout", "before", "decoded", "mean", "tree", "coreference", "plain"];

const layoutOf = (context) => context.choice("layout", LAYOUTS.map(([key]) => key));
const layoutBox = (layout) => choice("Drawn as", "layout", LAYOUTS, layout);
const headsBox = (heads) => field("Heads", "head", heads, { placeholder: "3-1,5-10", size: 12 });
const cut = (name, most) => [...name].slice(0, most).join("");

export async function sentenceView(context) {
  const { bank, connector, given } = context;
  const name = context.text("sentence").trim();
  const options = {
    sentence: name, head: context.text("head").trim(), run: context.run, corpus: context.text("corpus"),
    relation: context.text("relation"), direction: context.choice("direction", bank.directions),
    mean: context.flag("mean"), coreference: context.flag("coreference"), tree: context.flag("tree"),
    decoded: context.text("decoded"), before: context.number("before", 0, 0, 20), hit: context.text("hit"),
  };
  const layout = layoutOf(context);
  const plain = context.flag("plain");
  const [record, fault] = name ? await attempt(() => connector.get("/shown.json", options)) : [];
  record?.notes.forEach((text) => context.note(text));
  const toTyped = context.link("/typed", { head: options.head, run: context.run });
  return {
    title: name ? `Sentence ${cut(name, 60)}` : "One sentence",
    heading: name ? html`Sentence <bdi>${cut(name, 200)}</bdi>` : null,
    ...(record?.panels ? {
      frame: new Frame(record.rows), answered: record.run, isDrawn: true,
      ...commandsOf(context, record, options, plain),
      files: connector.files("/shown", { ...options, head: record.heads, plain }),
    } : {}),
    content: html`<form>
        ${field("Sentence", "sentence", name, {
          placeholder: "a sent_id, a number, or a request", size: Infinity,
        })}
        ${headsBox(record?.heads ?? options.head)}
        ${choice("Gold arcs", "relation", [["", "none"], ...bank.relations], options.relation)}
        ${moreOptions(context, FEW_NEED, html`
          ${runBox(context, context.run)}
          ${directionBox(context, options.direction)}
          ${layoutBox(layout)}
          ${connector.isServer ? html`
            ${field("Sentences before", "before", options.before, { size: 3, mode: "numeric" })}
            ${choice("Decoded tree", "decoded", [["", "none"], ...SOURCES], options.decoded)}` : null}
          ${tick("mean of the heads", "mean", options.mean)}
          ${tick("tree", "tree", options.tree)}${tick("coreference", "coreference", options.coreference)}
          ${tick("no special tokens", "plain", plain)}`)}
        ${["hit", "pattern", "corpus"].filter((key) => given[key]).map((key) => (
          html`<input type="hidden" name=${key} value=${given[key]}>`))}
        <button>Show</button></form>
      ${faultBox(fault)}
      ${runLine(record?.run)}
      ${record ? shownSentence(context, record, options, layout, plain) : null}
      ${!name && connector.isServer ? hint(html`<a href=${toTyped}>Type a sentence of your own</a>`) : null}`,
  };
}

function commandsOf(context, record, options, plain) {
  const { mean, coreference, tree, decoded, before, corpus, relation, direction } = options;
  const isUsual = !relation || direction === context.bank.directions[0];
  const given = {
    head: record.heads, run: record.run, corpus, relation, direction: isUsual ? null : direction, mean,
    no_special: plain,
  };
  const what = `show ${shell(options.sentence)}`;
  const drawn = { ...given, coreference, tree, decoded, before, output: "sentence.svg" };
  return { command: command(context, what, given), plotCommand: command(context, what, drawn) };
}

function shownSentence(context, record, { sentence, head, hit }, layout, plain) {
  const { given, connector, run } = context;
  const { heads } = record;
  const toModel = context.link("/model", { sentence, run: record.run });
  const toTyped = context.link("/typed", { sentence, head: heads, run });
  const toHits = context.link("/sentences", { pattern: given.pattern, run, head: heads ?? head });
  return html`${record.unread ? html`<p role="status">${record.unread}</p>` : null}
    <p class="sentence"><bdi>${writtenText(record)}</bdi></p>
    ${hit && given.pattern ? hint(html`Marked: a hit of
      <a href=${toHits}><code>${given.pattern}</code></a>`) : null}
    ${neighbours(context, record)}
    ${record.panels ? html`
      ${connector.isServer ? hint(html`<a href=${toModel}>All heads on this sentence</a> ·
        <a href=${toTyped}>Type a sentence of your own</a>`) : null}
      ${drawings(record, layout, plain)}
      <h2>As a table</h2>${table(context, new Frame(record.rows), "The word that each word attends to most", {
        links: { sent_id: () => null },
      })}` : null}`;
}

// The words as they are written, some of them marked.
function writtenText({ written, marked }) {
  return written.map(([form, index, isSpaced]) => (
    [marked.includes(index) ? html`<mark>${form}</mark>` : form, isSpaced ? " " : ""]));
}

// Links to the sentences before and after one, in the same view.
function neighbours(context, { around }) {
  const link = (sentence, text) => (sentence === null ? null : html`<a
    href=${context.link(context.path, { ...context.given, sentence, page: null })}>${text}</a>`);
  const [before, after] = around;
  return html`<p class="around">${link(before, "← previous sentence")}
    ${link(after, "next sentence →")}</p>`;
}

// The drawings of a record, in one of the layouts.
function drawings(record, layout, hidesSpecial) {
  const width = Math.max(300, Math.min(1560, document.getElementById("content").clientWidth - 40));
  const isInColumns = layout === "columns";
  const gold = record.trees.find((tree) => tree.isGold) ?? null;
  const trees = record.trees.filter((tree) => (isInColumns ? tree.isWanted : !tree.isGold));
  const treeFigures = trees.map((tree) => html`<figure><figcaption>${tree.title}</figcaption>
    ${treeDrawing(tree, width)}</figure>`);
  const above = gold ? "Above: the gold tree. " : "";
  const way = isInColumns ? "Left attends to right. Hover or tap a word to see its attention; click to pin."
    : `${above}Below: the head's weights; point at a word to see only its own.`;
  const isShaded = !isInColumns && record.words.some((word) => word.surprisal !== null);
  const figure = (panel, at) => html`<figure class=${`in-${layout}`}>
    <figcaption>${capitalised(panel.name)}</figcaption>
    ${isInColumns ? columns(record, panel, at, { hidesSpecial })
      : line(record, panel, at ? null : gold, width, { hidesSpecial })}</figure>`;
  return html`<p id=${isInColumns ? "looks" : null} class="looks"
      aria-live="polite">${way}${isShaded ? " The shade of a word is its surprisal." : ""}</p>
    ${record.facts.filter((fact) => !record.notes?.includes(fact)).map(hint)}
    <div class="wide drawn" tabindex="0" role="region" aria-label="Attention of the heads">
      ${isInColumns ? treeFigures : null}${record.panels.map(figure)}${isInColumns ? null : treeFigures}
    </div>`;
}

// All heads on one sentence, each a small map that leads to it.
export async function modelView(context) {
  const name = context.text("sentence").trim();
  const [model, fault] = name
    ? await attempt(() => context.connector.get("/model.json", { sentence: name, run: context.run })) : [];
  return {
    title: name ? `All heads on ${cut(name, 60)}` : "All heads on one sentence",
    answered: model?.run, frame: model && new Frame(model.rows),
    command: model?.heads && command(context, `show ${shell(name)}`, { head: model.heads, run: model.run }),
    content: html`<form>
        ${field("Sentence", "sentence", name, { placeholder: "a sent_id or a number", size: Infinity })}
        ${runBox(context, context.run)}<button>Show</button></form>
      ${faultBox(fault)}
      ${runLine(model?.run)}
      ${model ? html`<p class="sentence"><bdi>${writtenText(model)}</bdi></p>
        ${neighbours(context, model)}
        ${hint("Each small map is one head: words from top to bottom on both sides, a line for each weight of"
          + " at least 0.05, stronger from 0.15, 0.4 and 0.7. Click a map for the full picture.")}
        ${smallMaps(context, name, model)}` : null}`,
  };
}

function smallMaps(context, sentence, { run, layers, positions }) {
  const lines = new Map(layers.flatMap(([, maps]) => maps));
  const shape = { layer_numbers: layers.map(([layer]) => layer), heads: layers[0][1].length };
  const cell = (head) => html`<td><a href=${context.link("/sentence", { sentence, head, run })}
    aria-label=${`Head ${head}`} title=${`Head ${head}`}>${smallMap(lines.get(head), positions)}</a></td>`;
  return wide("All heads on this sentence", html`<table class="maps">
    <caption>Rows are layers, columns are heads</caption>${layerTable(shape, cell)}</table>`);
}

const [SMALL, HIGHEST] = [84, 150];

// The lines of each class of weights between places, as one path each.
function smallMap(lines, positions) {
  const step = Math.min(5, HIGHEST / Math.max(1, positions));
  const height = Math.round(positions * step);
  const y = (place) => ((place + 0.5) * step).toFixed(1);
  const path = (pairs) => pairs.map(([from, to]) => `M2 ${y(from)}L${SMALL - 2} ${y(to)}`).join("");
  return svg`<svg class="small" viewBox=${`0 0 ${SMALL} ${height}`} width=${SMALL} height=${height}
    aria-hidden="true">${lines.map((pairs, kind) => (
      pairs.length ? svg`<path class=${`w${kind + 1}`} d=${path(pairs)}></path>` : null))}</svg>`;
}

// What heads attend to in a text that somebody types, beside a sentence of the bank if one is named.
export async function typedView(context) {
  const options = {
    text: context.text("text").trim().replace(/\s+/g, " "), head: context.text("head", "1-1").trim(),
    run: context.run, sentence: context.text("sentence").trim(), mean: context.flag("mean"),
  };
  const layout = layoutOf(context);
  const [answer, fault] = await attempt(() => context.connector.get("/typed.json", options));
  answer?.notes.forEach((text) => context.note(text));
  const { typed, beside, model } = answer ?? {};
  const rows = typed && new Frame(typed.rows);
  return {
    frame: rows, files: typed && context.connector.files("/typed", options),
    content: html`<form><label class="long">Sentence of your own <input name="text" value=${options.text}
          placeholder="The lamp is new." maxlength="1000"></label>
        ${headsBox(options.head)}
        ${field("Compare with sentence", "sentence", options.sentence, {
          placeholder: "a sent_id or a number",
        })}
        ${runBox(context, context.run)}${layoutBox(layout)}
        ${tick("mean of the heads", "mean", options.mean)}<button>Run model</button></form>
      ${answer ? hint(html`The model <bdi>${model}</bdi> reads it here, token by token; nothing is stored. To
        hide a word from the model, write its mask token (<code>[MASK]</code> or <code>&lt;mask&gt;</code>).
        To use another model: <code>attnbank explore --model NAME</code>.`) : null}
      ${faultBox(fault)}
      ${typed ? html`${drawings(typed, layout, false)}
        ${beside ? html`<h2>The sentence of the bank</h2>${drawings(beside, layout, false)}` : null}
        <h2>As a table</h2>${table(context, rows, "The token that each token attends to most", {
          links: { sent_id: () => null },
        })}` : null}`,
  };
}

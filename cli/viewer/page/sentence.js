// Three views: one sentence with the attention of some heads, all heads on one sentence, and a
// sentence that is typed. drawing.js draws them.
import { Frame } from "./cells.js";
import { command, shell } from "./commands.js";
import { html, svg } from "./dom.js";
import { columns, line, withMarks } from "./drawing.js";
import { KEY } from "./examples.js";
import { attempt } from "./fault.js";
import {
  choice, directionBox, faultBox, field, hint, moreOptions, relationBox, runBox, runLine, tick, wide,
} from "./forms.js";
import { layerTable } from "./grids.js";
import { headOf } from "./measures.js";
import { capitalised, table } from "./tables.js";

const SOURCES = ["head", "layer", "all", "ensemble"];
const LAYOUTS = [["line", "words in a line"], ["columns", "two columns"]];

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
  const special = context.flag("special");
  const [shown, fault] = name ? await attempt(() => connector.get("/shown.json", options)) : [];
  const record = shown && asExample(shown, context.text("example"));
  record?.notes.forEach((text) => context.note(text));
  const head = record?.heads ?? options.head;
  const toTyped = context.link("/typed", { sentence: name, head, run: context.run });
  const toHits = context.link("/sentences", { pattern: given.pattern, run: context.run, head });
  const { corpus, relation, direction, mean, coreference, tree, decoded, before } = options;
  const isUsual = !relation || direction === bank.directions[0];
  const ofRows = {
    head, run: record?.run, corpus, relation, direction: isUsual ? null : direction, mean, no_special: !special,
  };
  const ofPicture = { ...ofRows, coreference, tree, decoded, before, output: "sentence.svg" };
  return {
    title: name ? `Sentence ${cut(name, 60)}` : "One sentence",
    heading: name ? html`Sentence <bdi>${cut(name, 200)}</bdi>` : null,
    ...(record?.panels ? {
      frame: byWord(record), answered: record.run, isDrawn: true,
      command: command(context, `show ${shell(name)}`, ofRows),
      plotCommand: command(context, `show ${shell(name)}`, ofPicture),
    } : {}),
    content: html`<form>
        ${field("Sentence", "sentence", name, { placeholder: "a sent_id, a number, or a request", size: Infinity })}
        <button>Show</button>
        ${moreOptions(html`${headsBox(head)}
          ${relationBox(context, options.relation, { label: "Gold arcs", none: "none" })}
          ${directionBox(context, options.direction)}${runBox(context, context.run)}${layoutBox(layout)}
          ${connector.isServer ? html`
            ${field("Sentences before", "before", options.before, { size: 3, mode: "numeric" })}
            ${choice("Decoded tree", "decoded", [["", "none"], ...SOURCES], options.decoded)}` : null}
          ${tick("arcs to special tokens", "special", special)}${tick("mean of the heads", "mean", options.mean)}
          ${tick("tree", "tree", options.tree)}${tick("coreference", "coreference", options.coreference)}`)}
        ${["hit", "example", "pattern", "corpus"].filter((key) => given[key]).map((key) => (
          html`<input type="hidden" name=${key} value=${given[key]}>`))}</form>
      ${faultBox(fault)}
      ${record ? html`${record.unread ? html`<p role="status">${record.unread}</p>` : null}
        <p class="sentence"><bdi>${writtenText(record)}</bdi></p>
        ${options.hit && given.pattern ? hint(html`Marked: a hit of
          <a href=${toHits}><code>${given.pattern}</code></a>`) : null}
        ${record.words?.some((word) => word.mark) ? KEY : null}
        ${record.panels ? drawings(context, record, layout, special) : null}
        ${neighbours(context, record)}` : null}
      ${connector.isServer && (record?.panels || !name) ? hint(html`
        ${name ? html`<a href=${context.link("/model", { sentence: name, run: record.run })}>All heads on this
          sentence</a> ·` : null} <a href=${toTyped}>Type a sentence of your own</a>`) : null}
      ${record?.panels ? html`<h2>As a table</h2>
        ${table(context, byWord(record), options.direction === "head_to_dependent"
          ? "The word that attends most to each word" : "The word that each word attends to most")}` : null}`,
  };
}

// A record with the marks of an example, SENTENCE:DEPENDENT,GOLD; what is found instead is what the first head
// attends to.
function asExample(record, example) {
  const [sentence, dependent, head] = example.split(/[:,]/).map(Number);
  if (sentence !== record.id || !record.panels) return record;
  const rowAt = (at) => new Frame(record.rows).rows.find(({ index }) => index === at) ?? {};
  const { position: own, looks_at_position: attended, looked_at_by_position: attending } = rowAt(dependent);
  const words = withMarks(record.words, { own, gold: rowAt(head).position, predicted: attended ?? attending });
  return { ...record, words, isBackward: attended === undefined };
}

// What each word attends to most, of several heads with their names.
function byWord(record) {
  const { columns, rows } = new Frame(record.rows);
  const isShown = ({ name }) => name === "head" ? record.panels.length > 1
    : !["sent_id", "layer", "index", "run"].includes(name) && !name.endsWith("position");
  return Frame.of(rows.map((row) => ({ ...row, head: headOf(row) })), columns.filter(isShown)
    .map(({ name, kind }) => [name, name === "head" ? "text" : kind]));
}

// The words as they are written, some of them marked.
function writtenText({ written, words = [], marked }) {
  const marks = new Map([...marked.map((index) => [index]),
    ...words.filter((word) => word.mark).map(({ index, mark }) => [index, mark])]);
  return written.map(([form, index, isSpaced]) => (
    [marks.has(index) ? html`<mark class=${marks.get(index)}>${form}</mark>` : form, isSpaced ? " " : ""]));
}

// Links to the sentences before and after one, in the same view.
function neighbours(context, { around: [before, after] }) {
  const link = (sentence, text) => (sentence === null ? null : html`<a
    href=${context.link(context.path, { ...context.given, sentence, page: null })}>${text}</a>`);
  return html`<p class="around">${link(before, "← previous sentence")}
    ${link(after, "next sentence →")}</p>`;
}

// The drawings of a record, in one of the layouts.
function drawings(context, record, layout, showsSpecial) {
  const width = Math.max(300, Math.min(1560, document.getElementById("content").clientWidth - 40));
  const isInColumns = layout === "columns";
  const gold = record.trees.find((tree) => tree.isGold) ?? null;
  const trees = record.trees.filter((tree) => (isInColumns ? tree.isWanted : !tree.isGold));
  const special = new Set(record.words.filter((word) => word.is_special).map((word) => `“${word.text}”`));
  const isShaded = !isInColumns && record.words.some((word) => word.surprisal !== null);
  const way = isInColumns ? "Left attends to right. Hover or tap a word to see its attention; click to pin."
    : [gold && "Above: the gold tree.", "Below: the head's weights; point at a word to see only its own.",
      !showsSpecial && special.size && `The number under a word is its attention to ${[...special].join(" and ")}.`,
      isShaded && "The shade of a word is its surprisal."].filter(Boolean).join(" ");
  const { rows } = new Frame(record.rows);
  const sharesOf = ({ layer, head }) => (showsSpecial ? null : new Map(rows
    .filter((row) => row.layer === layer && row.head === head).map((row) => [row.position, row.special])));
  const figure = (caption, drawing) => html`<figure><figcaption>${caption}</figcaption>${drawing}</figure>`;
  const ofHeads = record.panels.map((panel, at) => figure(
    panel.layer === null ? capitalised(panel.name) : html`<a
      href=${context.link(`/head/${headOf(panel)}`, { run: record.run })}>${capitalised(panel.name)}</a>`,
    isInColumns ? columns(record, panel, at, showsSpecial)
      : line(record, panel, at ? null : gold, width, { showsSpecial, shares: sharesOf(panel) }),
  ));
  const ofTrees = trees.map((tree) => figure(tree.title, line(
    { ...tree, mentions: [] }, { weights: [], gold: [] }, tree, width, { label: tree.title },
  )));
  return html`${isInColumns ? html`<p id="looks" class="looks" aria-live="polite">${way}</p>` : null}
    <div class="wide drawn" tabindex="0" role="region" aria-label="Attention of the heads">
      ${isInColumns ? [ofTrees, ofHeads] : [ofHeads, ofTrees]}</div>
    ${isInColumns ? null : hint(way)}
    ${record.facts.filter((fact) => !record.notes?.includes(fact)).map(hint)}`;
}

// All heads on one sentence, each a small map that leads to it.
export async function modelView(context) {
  const name = context.text("sentence").trim();
  const [model, fault] = name
    ? await attempt(() => context.connector.get("/model.json", { sentence: name, run: context.run })) : [];
  // The lines between words are one path for each class of weights.
  const path = (pairs, kind) => svg`<path class=${`w${kind + 1}`}
    d=${pairs.map(([from, to]) => `M0 ${from}L1 ${to}`).join("")}></path>`;
  const cell = (head) => html`<td><a href=${context.link("/sentence", { sentence: name, head, run: model.run })}
    aria-label=${`Head ${head}`} title=${`Head ${head}`}>${svg`<svg class="small" width="84"
      height=${Math.min(5 * model.positions, 150)} viewBox=${`0 -0.5 1 ${model.positions}`}
      preserveAspectRatio="none" aria-hidden="true">${model.maps[head].map(path)}</svg>`}</a></td>`;
  return {
    title: name ? `All heads on ${cut(name, 60)}` : "All heads on one sentence",
    answered: model?.run, frame: model && new Frame(model.rows),
    command: model?.heads && command(context, `show ${shell(name)}`, { head: model.heads, run: model.run }),
    content: html`<form>
        ${field("Sentence", "sentence", name, { placeholder: "a sent_id or a number", size: Infinity })}
        ${runBox(context, context.run)}</form>
      ${faultBox(fault)}
      ${runLine(model?.run)}
      ${model ? html`<p class="sentence"><bdi>${writtenText(model)}</bdi></p>
        ${neighbours(context, model)}
        ${hint("Each small map is one head: words from top to bottom on both sides, a line for each weight of"
          + " at least 0.05, stronger from 0.15, 0.4 and 0.7. Click a map for the full picture.")}
        ${wide("All heads on this sentence", html`<table class="maps">
          <caption>Rows are layers, columns are heads</caption>
          ${layerTable(context.runOf(model.run), cell)}</table>`)}` : null}`,
  };
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
  const frame = typed && byWord(typed);
  return {
    frame, isDrawn: Boolean(typed),
    content: html`<form>
        ${field("Sentence of your own", "text", options.text, { placeholder: "The lamp is new.", size: Infinity })}
        ${headsBox(options.head)}
        ${field("Compare with sentence", "sentence", options.sentence, { placeholder: "a sent_id or a number" })}
        ${runBox(context, context.run)}${layoutBox(layout)}
        ${tick("mean of the heads", "mean", options.mean)}<button>Run model</button></form>
      ${answer ? hint(html`The model <bdi>${model}</bdi> reads it here, token by token; nothing is stored. To
        hide a word from the model, write its mask token (<code>[MASK]</code> or <code>&lt;mask&gt;</code>).
        To use another model: <code>attnbank explore --model NAME</code>.`) : null}
      ${faultBox(fault)}
      ${typed ? html`${drawings(context, typed, layout, true)}
        ${beside ? html`<h2>The sentence of the bank</h2>${drawings(context, beside, layout, true)}` : null}
        <h2>As a table</h2>${table(context, frame, "The token that each token attends to most")}` : null}`,
  };
}

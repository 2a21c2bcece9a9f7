// Frames as people read them: the same roundings as on the command line (queries/table_formats.py).

// A number with so many decimals; of two equally near ones the even, as Python rounds.
export function fixed(value, decimals) {
  const rounded = value.toFixed(decimals);
  const exact = value.toFixed(100);
  const remainder = exact.slice(exact.indexOf(".") + 1 + decimals);
  if (!/^50*$/.test(remainder)) return rounded;
  const cut = exact.slice(0, exact.indexOf(".") + (decimals ? 1 + decimals : 0));
  const last = Number(cut.at(-1));
  return last % 2 ? rounded : cut;
}

function significant(value) {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(2).split("e")[1]);
  if (exponent >= -4 && exponent < 3) {
    const text = fixed(value, Math.max(0, 2 - exponent));
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  const [digits, power] = value.toExponential(2).split("e");
  const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  return `${short}e${power[0]}${power.slice(1).padStart(2, "0")}`;
}

function pattern(values) {
  const sizes = values.filter((values) => typeof values === "number" && Number.isFinite(values) && values).map(Math.abs);
  if (!sizes.length) return 3;
  const most = sizes.reduce((largest, size) => Math.max(largest, size));
  if (most >= 1e6 || most < 0.005) return null;
  return most >= 1000 ? 1 : 3;
}

function rounded(value, decimals, isP) {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (isP && value >= 0 && value < 0.001) return "<0.001";
  const text = decimals === null ? significant(value) : fixed(value, decimals);
  return /^[-0.]*$/.test(text) ? text.replace(/^-/, "") : text;
}

export const isP = (name) => name.split("_").includes("p");

// A text as one line: what has no picture of its own is written out, as on the command line.
export function harmless(text) {
  return text.replace(/[\p{C}\p{Z}]/gu, (character) => {
    if (character === " " || character === "\u200c" || character === "\u200d") return character;
    const number = character.codePointAt(0);
    const usual = { 9: "\\t", 10: "\\n", 13: "\\r" }[number];
    const digits = number.toString(16);
    return usual ?? (number < 0x100 ? `\\x${digits.padStart(2, "0")}`
      : number < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`);
  });
}

export function asText(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : rounded(value, pattern([value]), false);
  if (Array.isArray(value)) return `[${value.map(inList).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([name, field]) => `${asText(name)}: ${inList(field)}`).join(", ")}}`;
  }
  return harmless(String(value));
}

const inList = (value) => (value === null || value === undefined ? "null" : asText(value));

// Columns of ids that say where a row stands (sql/ids.py), and how far those of two corpora are apart.
const PLACED = new Set(["document", "sentence", "word", "mention", "entity", "first_word", "last_word", "head_word", "dependent", "head", "sequence"]);
const CORPUS = 2 ** 40;

// The columns as text, each with whether it holds numbers.
export function columnsAsText(frame) {
  return frame.columns.map(({ name, kind }, at) => {
    const values = frame.values[at];
    let cells;
    if (kind === "float") {
      const p = isP(name);
      const decimals = p ? 3 : pattern(values);
      cells = values.map((values) => (values === null ? "" : rounded(values, decimals, p)));
    } else if (PLACED.has(name) && values.some((id) => id >= CORPUS)) {
      // 1099511627788 is the 12th of the second corpus, 2:12.
      cells = values.map((id) => (id === null ? "" : `${Math.floor(id / CORPUS) + 1}:${id % CORPUS}`));
    } else {
      cells = values.map(asText);
    }
    return { name: harmless(name), cells, is_number: kind === "float" || kind === "integer" };
  });
}

export const heightOf = (frame) => (frame.values.length ? frame.values[0].length : 0);

// The rows of a frame as objects.
export function rowsOf(frame) {
  const rows = [];
  for (let at = 0; at < heightOf(frame); at++) {
    const row = Object.create(null);
    frame.columns.forEach(({ name }, column) => {
      row[name] = frame.values[column][at];
    });
    rows.push(row);
  }
  return rows;
}

// A frame of objects, all with the same columns: [name, kind].
export function frameOf(rows, columns) {
  return {
    columns: columns.map(([name, kind]) => ({ name, kind })),
    values: columns.map(([name]) => rows.map((row) => row[name] ?? null)),
  };
}

// The rows for which a condition holds.
export function filtered(frame, condition) {
  const indexes = rowsOf(frame).map((row, at) => [row, at]).filter(([row]) => condition(row)).map(([, at]) => at);
  return { ...frame, values: frame.values.map((values) => indexes.map((at) => values[at])) };
}

export function csv(frame) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [frame.columns.map(({ name }) => cell(name)).join(",")];
  for (let at = 0; at < heightOf(frame); at++) lines.push(frame.values.map((values) => cell(values[at])).join(","));
  return `${lines.join("\n")}\n`;
}

// The bank behind the page: DuckDB in a worker, which reads the file by ranges, or whole where the
// host does not answer ranges. One statement runs at a time.
import * as duckdb from "@duckdb/duckdb-wasm";
import { Fault } from "viewer/fault.js";
import { frameOf } from "viewer/cells.js";
import { literal, quoted } from "viewer/commands.js";

const MOST_WHOLE = 500e6;
// Bytes of a bank that is downloaded whole where its host answers no ranges.

const AHEAD = 81_920;
// Bytes that are read at least: a block of the bank, and what DuckDB reads beyond it.

const isBank = (bytes) => String.fromCharCode(...bytes.slice(8, 12)) === "DUCK";
const NAMES = new Set(["__proto__", "constructor", "prototype"]);

export class Database {
  constructor(pages, url, manifest, tell) {
    Object.assign(this, { pages, url, manifest, tell });
    this.queue = Promise.resolve();
    this.opened = null;
  }

  // Open the bank once. Rejects with a Fault, and may then be tried again.
  open() {
    this.opened ??= this.#open().catch((error) => {
      this.opened = null;
      this.tell("");
      throw error;
    });
    return this.opened;
  }

  async #open() {
    this.tell("Loading DuckDB…");
    // A worker made from a blob has the policy of the page: it can ask no other host.
    const opening = this.#opening(); // while DuckDB comes
    opening.catch(() => {}); // it is told below
    const bank = { url: this.url, bytes: this.manifest.bank.bytes, ahead: AHEAD };
    const script = `const BANK = ${JSON.stringify(bank)};\n`
      + `importScripts(${JSON.stringify(`${this.pages}ranges.js`)}, ${JSON.stringify(`${this.pages}duckdb-worker.js`)});`;
    const blob = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    const worker = new Worker(blob);
    const logger = { log() {} };
    const db = new duckdb.AsyncDuckDB(logger, worker);
    const program = await this.#program();
    await db.instantiate(program);
    URL.revokeObjectURL(program);
    URL.revokeObjectURL(blob);
    this.tell("Opening the bank…");
    await db.open({
      filesystem: { forceFullHTTPReads: false, allowFullHTTPReads: true, reliableHeadRequests: true },
    });
    const connection = await db.connect();
    for (const setting of ["autoinstall_known_extensions", "autoload_known_extensions"]) {
      await connection.query(`set ${setting} = false`);
    }
    let isOpen = false;
    const pieces = await opening;
    if (pieces !== null) {
      worker.postMessage({ pieces }, pieces.map(([, buffer]) => buffer));
      // Some hosts answer one range and refuse the next: GitHub's pages to Firefox.
      isOpen = await this.#attach(connection, this.url).then(() => true, () => false);
    }
    if (!isOpen) {
      await db.registerFileBuffer("bank.duckdb", await this.#download());
      await this.#attach(connection, "bank.duckdb").catch((error) => { throw faultOf(error); });
    }
    await connection.query("use bank");
    this.connection = connection;
    this.tell("");
    return connection;
  }

  // DuckDB as an address within the browser: the file is compressed, unless its host undoes that.
  async #program() {
    const answer = await fetch(`${this.pages}duckdb-eh.wasm.gz`);
    if (!answer.ok) throw new Fault(`The host did not return DuckDB: ${answer.status} ${answer.statusText}.`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const whole = isPacked
      ? await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).blob()
      : new Blob([bytes]);
    return URL.createObjectURL(new Blob([whole], { type: "application/wasm" }));
  }

  async #attach(connection, name) {
    await connection.query(`attach '${name.replaceAll("'", "''")}' as bank (read_only)`);
  }

  // What DuckDB reads to open the bank: [first byte, bytes]. Null where the host does not give
  // parts of the file, or of another one: a host that compresses it on the way may count in that.
  async #opening() {
    const { bytes, opening } = this.manifest.bank;
    const part = async ([start, end]) => {
      const answer = await this.#ask({ headers: { Range: `bytes=${start}-${end}` } });
      const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
      if (answer.status !== 206 || (total !== undefined && Number(total) !== bytes)) {
        await answer.body?.cancel();
        return null;
      }
      return [start, await answer.arrayBuffer()];
    };
    const pieces = [];
    for (const range of opening) { // at once, a browser's cache asks for some of them twice
      const piece = await part(range);
      if (piece === null || (!pieces.length && !isBank(new Uint8Array(piece[1])))) return null;
      pieces.push(piece);
    }
    return pieces;
  }

  async #ask(options = {}) {
    let answer;
    try {
      answer = await fetch(this.url, options);
    } catch {
      throw new Fault("The bank cannot be reached.", "Check your connection, then try again.");
    }
    if (!answer.ok && answer.status !== 416) throw new Fault(`The host did not return the bank: ${answer.status} ${answer.statusText}.`);
    return answer;
  }

  // The whole file, for a host that gives no parts.
  async #download() {
    const size = this.manifest.bank.bytes;
    if (size > MOST_WHOLE) {
      throw new Fault(
        "This host does not answer requests for a part of a file, and the bank is too large to be"
        + ` downloaded whole (${Math.round(size / 1e6)} MB).`,
        "Put it on a host that does, or download it and query it with attnbank.",
      );
    }
    const reader = (await this.#ask()).body.getReader();
    const bytes = new Uint8Array(size);
    let at = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (at + value.length > size) throw new Fault("The bank is not the one that was published: it is larger.");
      bytes.set(value, at);
      at += value.length;
      this.tell("This host cannot return parts of a file: downloading the whole bank", at / size);
    }
    if (at < size) throw new Fault("The download of the bank was cut off.", "Reload the page.");
    if (!isBank(bytes)) throw new Fault("The file of this page is not a bank.");
    return bytes;
  }

  // The rows of a statement as objects; `values` are what its getvariable('name') give.
  async rows(statement, values = {}) {
    const table = await this.#run(statement, values);
    const names = table.schema.fields.map((field) => field.name);
    return table.toArray().map((row) => {
      const object = Object.create(null);
      for (const name of names) object[name] = plain(row[name]);
      return object;
    });
  }

  // The rows of anyone's SELECT as a frame: columns with a kind, and their values. Whatever else
  // it is, a macro of its own above all, is a Fault: it could change what all views show.
  async frame(statement, most = null) {
    const [, explained] = /^explain\s+(?:analyze\s+)?(.+)$/is.exec(statement) ?? [];
    const described = await this.#described(explained ?? statement);
    if (explained !== undefined) return frameOf(await this.rows(statement), [["explain_key", "text"], ["explain_value", "text"]]);
    const twice = described.find((column, at) => described.findIndex((other) => other.column_name === column.column_name) < at);
    if (twice) throw new Fault(`Two columns are called ${twice.column_name}.`, "Rename one: ... as NAME.");
    const kinds = described.map((column) => kindOf(column.column_type));
    const read = described.map((column, at) => {
      const name = quoted(column.column_name);
      return kinds[at] === "float" ? `cast(${name} as double) as c${at}`
        : kinds[at] === "nested" ? `${name} as c${at}` : `cast(${name} as varchar) as c${at}`;
    });
    const limit = most === null ? "" : ` limit ${most}`;
    const rows = await this.rows(`select ${read.join(", ")} from (${statement}\n)${limit}`);
    return {
      columns: described.map((column, at) => ({ name: column.column_name, kind: kinds[at] })),
      values: described.map((_, at) => rows.map((row) => row[`c${at}`])),
    };
  }

  // The columns of one statement that reads. Within brackets nothing else can stand: what is read
  // alone closes each bracket that it opens, so that no ; of it gets out of these.
  async #described(statement) {
    const connection = await this.open();
    let several = false;
    try {
      await (await connection.prepare(statement)).close();
    } catch (error) {
      several = /multiple statements/.test(error.message); // so is a PIVOT, which reads
      if (!several) throw faultOf(error);
    }
    try {
      const columns = await this.rows(`describe select * from (${statement}\n)`);
      // Of two columns with one name it has numbered the second, where a SELECT by itself has not.
      return /^(desc|describe|show|summarize)\b/i.test(statement) ? columns : await this.rows(`describe ${statement}`);
    } catch (error) {
      if (!(error.cause?.message ?? "").startsWith("Parser Error")) throw error;
      throw new Fault(several ? "Several statements were given." : "Only statements that read run here.", "Give one SELECT.");
    }
  }

  #run(statement, values) {
    const result = this.queue.then(async () => {
      const connection = await this.open();
      for (const [name, value] of Object.entries(values)) {
        await connection.query(`set variable ${quoted(name)} = ${literal(value)}`);
      }
      try {
        return await connection.query(statement);
      } catch (error) {
        throw faultOf(error);
      }
    });
    this.queue = result.catch(() => {});
    return result;
  }
}

function kindOf(type) {
  if (/[[({]/.test(type.replace(/^DECIMAL\(\d+,\d+\)$/, "DECIMAL")) || type === "BLOB") return "nested";
  if (type === "DOUBLE" || type === "FLOAT") return "float";
  if (/^(DECIMAL|U?(TINY|SMALL|BIG|HUGE)INT$|U?INTEGER$)/.test(type)) return "integer";
  return type === "BOOLEAN" ? "boolean" : "text";
}

// A value of Arrow as one of JavaScript.
function plain(value) {
  if (typeof value === "bigint") return Number(value);
  if (value === null || value === undefined || typeof value !== "object") return value ?? null;
  if (value instanceof Uint8Array) return [...value].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  if (typeof value.toArray === "function") return Array.from(value, plain);
  if (ArrayBuffer.isView(value)) return Array.from(value, plain);
  if (typeof value.toJSON === "function") {
    return Object.fromEntries(Object.entries(value.toJSON()).filter(([name]) => !NAMES.has(name)).map(([name, field]) => [name, plain(field)]));
  }
  return value;
}

// An analysis says in SQL what must be done before it can answer: error('... Type: ...').
function faultOf(error) {
  if (error instanceof Fault) return error;
  const first = String(error.message ?? error).split("\n")[0];
  const message = first.replace(/^(Invalid Input|Binder|Catalog|Parser|Conversion|Out of Range) Error: /, "");
  const [fact, remedy] = message.split(" Type: ");
  return Object.assign(new Fault(fact, remedy === undefined ? "" : `Type: ${remedy}`), { cause: error });
}

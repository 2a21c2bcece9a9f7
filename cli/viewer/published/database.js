// The bank behind the page: DuckDB in a worker, which reads the file by ranges, or whole where the
// host does not answer ranges. One statement runs at a time.
import * as duckdb from "@duckdb/duckdb-wasm";
import { Frame } from "viewer/cells.js";
import { literal, quoted } from "viewer/commands.js";
import { attempt, Fault } from "viewer/fault.js";

const MOST_WHOLE = 500e6; // bytes of a bank that is downloaded whole
const AHEAD = 81_920; // bytes that are read at least: a block of the bank, and what DuckDB reads beyond it

const isBank = (bytes) => String.fromCharCode(...bytes.slice(8, 12)) === "DUCK";

export class Database {
  opened = null;
  queue = Promise.resolve();

  constructor(pages, url, manifest, tell) {
    Object.assign(this, { pages, url, manifest, tell });
  }

  // Open the bank once. Rejects with a Fault, and may then be tried again.
  open() {
    this.opened ??= this.#open().catch((error) => {
      this.opened = null;
      throw error;
    }).finally(() => this.tell(""));
    return this.opened;
  }

  async #open() {
    this.tell("Loading DuckDB…");
    const opening = attempt(() => this.#opening()); // while DuckDB comes
    const [db, worker] = await this.#start();
    this.tell("Opening the bank…");
    await db.open({
      filesystem: { forceFullHTTPReads: false, allowFullHTTPReads: true, reliableHeadRequests: true },
    });
    const connection = await db.connect();
    for (const setting of ["autoinstall_known_extensions", "autoload_known_extensions"]) {
      await connection.query(`set ${setting} = false`);
    }
    const attach = (name) => connection.query(`attach ${literal(name)} as bank (read_only)`);
    const [pieces, fault] = await opening;
    if (fault) throw fault;
    if (pieces) worker.postMessage({ pieces }, pieces.map(([, buffer]) => buffer));
    // Some hosts answer one range and refuse the next: GitHub's pages to Firefox.
    const isOpen = pieces !== null && await attach(this.url).then(() => true, () => false);
    if (!isOpen) {
      await db.registerFileBuffer("bank.duckdb", await this.#download());
      await attach("bank.duckdb").catch((error) => { throw faultOf(error); });
    }
    await connection.query("use bank");
    this.connection = connection;
    return connection;
  }

  // DuckDB in a worker, which is made from a blob and so has the policy of the page: it can ask no
  // other host.
  async #start() {
    const bank = { url: this.url, bytes: this.manifest.bank.bytes, ahead: AHEAD };
    const scripts = ["ranges.js", "duckdb-worker.js"].map((name) => JSON.stringify(this.pages + name));
    const script = `const BANK = ${JSON.stringify(bank)};\nimportScripts(${scripts.join(", ")});`;
    const addresses = [addressOf([script], "text/javascript")];
    const worker = new Worker(addresses[0]);
    const db = new duckdb.AsyncDuckDB({ log() {} }, worker);
    const answer = await fetch(`${this.pages}duckdb-eh.wasm.gz`);
    if (!answer.ok) throw new Fault(`The host did not return DuckDB: ${answer.status} ${answer.statusText}.`);
    // The file is compressed, unless its host undoes that.
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    if (isPacked && !globalThis.DecompressionStream) {
      throw new Fault("This browser cannot unpack DuckDB.", "Firefox 113, Chrome 97 and Safari 16.4 can, and all later ones.");
    }
    const plain = (stream) => stream.pipeThrough(new DecompressionStream("gzip"));
    const program = isPacked ? await new Response(plain(new Blob([bytes]).stream())).blob() : bytes;
    addresses.push(addressOf([program], "application/wasm"));
    await db.instantiate(addresses[1]);
    addresses.forEach((address) => URL.revokeObjectURL(address));
    return [db, worker];
  }

  // What DuckDB reads to open the bank: [first byte, bytes]. Null where the host does not give
  // parts of the file, or of another one: a host that compresses it on the way may count in that.
  async #opening() {
    const { bytes, opening } = this.manifest.bank;
    const pieces = [];
    for (const [start, end] of opening) { // at once, a browser's cache asks for some of them twice
      const answer = await this.#ask({ headers: { Range: `bytes=${start}-${end}` } });
      const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1] ?? bytes;
      if (answer.status !== 206 || Number(total) !== bytes) {
        await answer.body?.cancel();
        return null;
      }
      pieces.push([start, await answer.arrayBuffer()]);
      if (!isBank(new Uint8Array(pieces[0][1]))) return null;
    }
    return pieces;
  }

  async #ask(options = {}) {
    const answer = await fetch(this.url, options).catch(() => {
      throw new Fault("The bank cannot be reached.", "Check your connection, then try again.");
    });
    if (answer.ok || answer.status === 416) return answer;
    throw new Fault(`The host did not return the bank: ${answer.status} ${answer.statusText}.`);
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
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const { value } = read;
      if (at + value.length > size) {
        throw new Fault("The bank is not the one that was published: it is larger.");
      }
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
    return (await this.#run(statement, values)).toArray().map(plain);
  }

  // The rows of anyone's SELECT as a frame: columns with a kind, and their values. Whatever else
  // it is, a macro of its own above all, is a Fault: it could change what all views show.
  async frame(statement, most = null) {
    const [, explained] = /^explain\s+(?:analyze\s+)?(.+)$/is.exec(statement) ?? [];
    const described = await this.#described(explained ?? statement);
    if (explained !== undefined) {
      return Frame.of(await this.rows(statement), [["explain_key", "text"], ["explain_value", "text"]]);
    }
    const columns = described.map((row) => ({ name: row.column_name, kind: kindOf(row.column_type) }));
    const names = columns.map((column) => column.name);
    const twice = names.find((name, at) => names.indexOf(name) < at);
    if (twice) throw new Fault(`Two columns are called ${twice}.`, "Rename one: ... as NAME.");
    const read = columns.map(({ name, kind }, at) => {
      const type = kind === "float" ? "double" : "varchar";
      return `${kind === "nested" ? quoted(name) : `cast(${quoted(name)} as ${type})`} as c${at}`;
    });
    const limit = most === null ? "" : ` limit ${most}`;
    const rows = await this.rows(`select ${read.join(", ")} from (${statement}\n)${limit}`);
    const valueOf = (text, kind) => (kind === "integer" && isWhole(text) ? Number(text) : text);
    const values = columns.map(({ kind }, at) => rows.map((row) => valueOf(row[`c${at}`], kind)));
    return { columns, values };
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
      const isOther = /^(desc|describe|show|summarize)\b/i.test(statement);
      return isOther ? columns : await this.rows(`describe ${statement}`);
    } catch (error) {
      if (!(error.cause?.message ?? "").startsWith("Parser Error")) throw error;
      const fact = several ? "Several statements were given." : "Only statements that read run here.";
      throw new Fault(fact, "Give one SELECT.");
    }
  }

  #run(statement, values) {
    const result = this.queue.then(async () => {
      const connection = await this.open();
      for (const [name, value] of Object.entries(values)) {
        await connection.query(`set variable ${quoted(name)} = ${literal(value)}`);
      }
      return connection.query(statement).catch((error) => { throw faultOf(error); });
    });
    this.queue = result.catch(() => {});
    return result;
  }
}

// Whether a text is a whole number that JavaScript has exactly; 0.00 is none.
const isWhole = (text) => /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text));

// Some bytes or text as an address within the browser.
const addressOf = (parts, type) => URL.createObjectURL(new Blob(parts, { type }));

function kindOf(type) {
  if (/[[({]/.test(type.replace(/^DECIMAL\(\d+,\d+\)$/, "DECIMAL")) || type === "BLOB") return "nested";
  if (type === "DOUBLE" || type === "FLOAT") return "float";
  if (/^(DECIMAL|U?(TINY|SMALL|BIG|HUGE)INT$|U?INTEGER$)/.test(type)) return "integer";
  return type === "BOOLEAN" ? "boolean" : "text";
}

// A value of Arrow, or a row of its values, as one of JavaScript.
function plain(value) {
  if (typeof value === "bigint") return Number(value);
  if (value === null || typeof value !== "object") return value ?? null;
  if (value instanceof Uint8Array) {
    return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
  if (value[Symbol.toStringTag] !== "Row") return Array.from(value, plain);
  const fields = Array.from(value, ([name, field]) => [name, plain(field)]);
  return Object.assign(Object.create(null), Object.fromEntries(fields));
}

// An analysis says in SQL what must be done before it can answer: error('... Type: ...').
function faultOf(error) {
  if (error instanceof Fault) return error;
  const [first] = String(error.message ?? error).split("\n");
  const kinds = /^(Invalid Input|Binder|Catalog|Parser|Conversion|Out of Range) Error: /;
  const [fact, remedy] = first.replace(kinds, "").split(" Type: ");
  return Object.assign(new Fault(fact, remedy === undefined ? "" : `Type: ${remedy}`), { cause: error });
}

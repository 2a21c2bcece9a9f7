// Before DuckDB in its worker: how it reads the bank by ranges. What it needs to open the bank the
// page gives it; every other read takes a whole block with it, and what was read is not asked again.
// DuckDB alone reads one small piece after the other, each of which takes the way to the host and back.
/* global BANK */
"use strict";
{
  const { url, bytes: size, ahead } = BANK;
  const MOST_PIECES = 400;
  const pieces = []; // [first byte, bytes]; the newest first

  const keep = (start, buffer) => {
    pieces.unshift([start, buffer]);
    pieces.length = Math.min(pieces.length, MOST_PIECES);
  };

  const kept = (start, end) => {
    const piece = pieces.find(([first, bytes]) => first <= start && end < first + bytes.byteLength);
    return piece ? piece[1].slice(start - piece[0], end + 1 - piece[0]) : null;
  };

  // Before DuckDB's own listener, which does not know this message.
  addEventListener("message", (event) => {
    if (!event.data?.pieces) return;
    event.stopImmediatePropagation();
    for (const [start, buffer] of event.data.pieces) keep(start, buffer);
  });

  class Reading extends XMLHttpRequest {
    #range = null;
    #answer = null;
    #isLog = false;

    open(method, address, ...rest) {
      this.#isLog = address === `${url}.wal`; // a published bank has none
      this.#range = method === "GET" && address === url ? [] : null;
      super.open(method, address, ...rest);
    }

    setRequestHeader(name, value) {
      const range = this.#range && name === "Range" ? /^bytes=(\d+)-(\d+)$/.exec(value) : null;
      if (range) this.#range = range.slice(1).map(Number);
      else super.setRequestHeader(name, value);
    }

    send(body) {
      if (this.#isLog) return;
      const [start, end] = this.#range ?? [];
      if (start === undefined || start === end) {
        if (start !== undefined) super.setRequestHeader("Range", `bytes=${start}-${end}`);
        super.send(body);
        return;
      }
      this.#answer = kept(start, end);
      if (this.#answer) return;
      super.setRequestHeader("Range", `bytes=${start}-${Math.max(end, Math.min(start + ahead, size) - 1)}`);
      super.send(body);
      if (super.status !== 206) return;
      keep(start, super.response);
      this.#answer = super.response.slice(0, end + 1 - start);
    }

    get status() {
      return this.#isLog ? 404 : this.#answer ? 206 : super.status;
    }

    get response() {
      return this.#answer ?? super.response;
    }
  }
  self.XMLHttpRequest = Reading;
}

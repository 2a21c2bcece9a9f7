// What went wrong, and what to do: both are shown to the reader.
export class Fault extends Error {
  constructor(fact, remedy = "") {
    super(fact);
    Object.assign(this, { fact, remedy });
  }
}

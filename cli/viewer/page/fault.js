// What went wrong, and what to do: both are shown to the reader.
export class Fault extends Error {
  constructor(fact, remedy = "") {
    super(fact);
    Object.assign(this, { fact, remedy });
  }

  get text() {
    return `${this.fact} ${this.remedy}`.trim();
  }
}

// What a function gives, or else the Fault that it throws: [value, null] or [null, fault].
export async function attempt(make) {
  try {
    return [await make(), null];
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [null, error];
  }
}

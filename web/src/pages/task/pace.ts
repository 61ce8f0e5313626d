/** Asks again when there is news, but never so often that asking is all it does. */

const GAP_MS_MIN = 1_000;
/** An answer that takes a second to come is asked for every ten. */
const REST_SHARE = 10;

export class Pace {
  #ask: () => Promise<unknown>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isWanted = false;
  #notBefore = 0;

  constructor(ask: () => Promise<unknown>) {
    this.#ask = ask;
  }

  /** There is news. */
  want(): void {
    this.#isWanted = true;
    if (this.#isAsking || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, Math.max(0, this.#notBefore - Date.now()));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWanted = false;
  }

  async #run(): Promise<void> {
    this.#isAsking = true;
    this.#isWanted = false;
    const begun = Date.now();
    try {
      await this.#ask();
    } finally {
      this.#isAsking = false;
      this.#notBefore = Date.now() + Math.max(GAP_MS_MIN, REST_SHARE * (Date.now() - begun));
      if (this.#isWanted) this.want();
    }
  }
}

/** Events gathered for a moment, so that 500 a second are four renderings and not 500. */

import type { LiveEvent } from "./stream";

export const GATHER_MS = 250;
/** A hidden tab's timers sleep; beyond this it is cheaper to look at everything afresh than to go through it all. */
export const GATHER_EVENTS_MAX = 2_000;

export interface Batch {
  events: readonly LiveEvent[];
  /** Something was missed: `events` is not all that happened. */
  hasGap: boolean;
}

export class Gatherer {
  #events: LiveEvent[] = [];
  #hasGap = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tell: (batch: Batch) => void;

  constructor(tell: (batch: Batch) => void) {
    this.#tell = tell;
  }

  add(event: LiveEvent): void {
    if (this.#events.length >= GATHER_EVENTS_MAX) this.#hasGap = true;
    else this.#events.push(event);
    this.#soon();
  }

  /** Told at once: what is asked for from now on is not from before it. */
  gap(): void {
    this.#hasGap = true;
    this.stop();
    this.#flush();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#flush();
    }, GATHER_MS);
  }

  #flush(): void {
    const batch = { events: this.#events, hasGap: this.#hasGap };
    this.#events = [];
    this.#hasGap = false;
    this.#tell(batch);
  }
}

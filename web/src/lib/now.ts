/** The time of day for what must tick; one timer for all that shows it, none while nothing does. */

import { useSyncExternalStore } from "react";

const STEP_MS = 1_000;

class Ticker {
  #listeners = new Set<() => void>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #now = Date.now();

  get = (): number => this.#now;

  subscribe = (told: () => void): (() => void) => {
    if (this.#listeners.size === 0) {
      this.#now = Date.now();
      this.#wait();
    }
    this.#listeners.add(told);
    return () => {
      this.#listeners.delete(told);
      if (this.#listeners.size === 0) clearTimeout(this.#timer);
    };
  };

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#now = Date.now();
      for (const told of this.#listeners) told();
      this.#wait();
    }, STEP_MS);
  }
}

const ticker = new Ticker();

export function useNow(): number {
  return useSyncExternalStore(ticker.subscribe, ticker.get);
}

/** For what is told in minutes and longer. */
export function useMinute(): number {
  return useSyncExternalStore(ticker.subscribe, () => Math.floor(ticker.get() / 60_000) * 60_000);
}

/** What is said about a moment; shown anew only when that changes, not whenever a second has passed. */
export function useSaidNow(say: (now: number) => string): string {
  return useSyncExternalStore(ticker.subscribe, () => say(ticker.get()));
}

/** Fetches anew what events touched, each topic at most once a second: figures that flicker say less. */

import type { QueryClient } from "@tanstack/react-query";

import { ME } from "~/api/keys";
import type { Topic } from "~/api/keys";

import type { Batch } from "./batches";
import { topicsOf } from "./topics";

export const REFRESH_MS = 1_000;
/** Rates are of the last minute, so they change without an event when the minute moves on. */
export const MINUTE_MS = 60_000;
const BY_MINUTE: readonly Topic[] = ["figures", "history", "held"];

export class Refresher {
  #client: QueryClient;
  #waiting = new Set<Topic>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #minute: ReturnType<typeof setTimeout> | undefined;
  #lastAt = -Infinity;

  constructor(client: QueryClient) {
    this.#client = client;
    this.#nextMinute();
    document.addEventListener("visibilitychange", this.#seen);
  }

  take(batch: Batch): void {
    if (batch.hasGap) {
      this.#waiting.clear();
      void this.#client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
      return;
    }
    for (const topic of topicsOf(batch.events)) this.#waiting.add(topic);
    if (this.#waiting.size > 0) this.#soon();
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#minute);
    document.removeEventListener("visibilitychange", this.#seen);
  }

  /** Minutes are not counted while nobody looks; whoever looks again sees this one. */
  #seen = (): void => {
    if (document.hidden) return;
    for (const topic of BY_MINUTE) void this.#client.invalidateQueries({ queryKey: [topic] });
  };

  #soon(): void {
    const waitMs = Math.max(0, this.#lastAt + REFRESH_MS - Date.now());
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#lastAt = Date.now();
      const topics = new Set<unknown>(this.#waiting);
      this.#waiting.clear();
      void this.#client.invalidateQueries(
        { predicate: ({ queryKey, meta }) => meta?.live !== false && topics.has(queryKey[0]) },
        // What is still being fetched goes on: cancelling it every second would starve a slow answer.
        { cancelRefetch: false },
      );
    }, waitMs);
  }

  #nextMinute(): void {
    this.#minute = setTimeout(() => {
      this.#seen();
      this.#nextMinute();
    }, MINUTE_MS);
  }
}

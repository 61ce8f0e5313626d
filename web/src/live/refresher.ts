/** Fetches anew what events touched, each topic no more often than its figures can be read. */

import type { QueryClient } from "@tanstack/react-query";

import { ME, type Topic } from "~/api/keys";

import type { Batch } from "./batches";
import { topicsOf } from "./topics";

/** Figures that flicker say less. */
export const REFRESH_MS = 1_000;
/** The hub looks at many users for it: dearer than the others. */
export const REFRESH_HELD_MS = 3_000;
/** Rates are of the last minute, so they change without an event when the minute moves on. */
export const MINUTE_MS = 60_000;
const BY_MINUTE: ReadonlySet<Topic> = new Set(["figures", "history", "held"]);

function intervalOf(topic: Topic): number {
  return topic === "held" ? REFRESH_HELD_MS : REFRESH_MS;
}

export class Refresher {
  #client: QueryClient;
  #isHidden: () => boolean;
  #waiting = new Set<Topic>();
  #lastAt = new Map<Topic, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #minute: ReturnType<typeof setTimeout> | undefined;

  constructor(client: QueryClient, isHidden: () => boolean) {
    this.#client = client;
    this.#isHidden = isHidden;
    this.#nextMinute();
  }

  take(batch: Batch): void {
    if (batch.hasGap) {
      this.#waiting.clear();
      void this.#client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] });
      return;
    }
    for (const topic of topicsOf(batch.events)) this.#waiting.add(topic);
    this.#soon();
  }

  /** Minutes are not counted while nobody looks; whoever looks again sees this one. */
  seen(): void {
    if (!this.#isHidden()) this.#fetch(BY_MINUTE);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#minute);
  }

  #dueAt(topic: Topic): number {
    return (this.#lastAt.get(topic) ?? -Infinity) + intervalOf(topic);
  }

  #soon(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.size === 0) return;
    const first = Math.min(...[...this.#waiting].map((topic) => this.#dueAt(topic)));
    this.#timer = setTimeout(() => {
      const now = Date.now();
      const due = new Set([...this.#waiting].filter((topic) => this.#dueAt(topic) <= now));
      for (const topic of due) {
        // What is still being fetched may be from before the event: it is fetched once more.
        if (!this.#isFetching(topic)) this.#waiting.delete(topic);
        this.#lastAt.set(topic, now);
      }
      this.#fetch(due);
      this.#soon();
    }, Math.max(0, first - Date.now()));
  }

  #isFetching(topic: Topic): boolean {
    return this.#client.isFetching({ predicate: ({ queryKey, meta }) => meta?.live !== false && queryKey[0] === topic }) > 0;
  }

  #fetch(topics: ReadonlySet<unknown>): void {
    void this.#client.invalidateQueries(
      { predicate: ({ queryKey, meta }) => meta?.live !== false && topics.has(queryKey[0]) },
      // What is still being fetched goes on: cancelling it every second would starve a slow answer.
      { cancelRefetch: false },
    );
  }

  #nextMinute(): void {
    this.#minute = setTimeout(() => {
      this.seen();
      this.#nextMinute();
    }, MINUTE_MS);
  }
}

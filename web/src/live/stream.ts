/**
 * The event stream over `fetch`: `EventSource` cannot say why it failed, and waits as long as it likes.
 *
 * It goes on from the last event that it saw. What was missed is not reconstructed here: whoever listens is told
 * that there was a gap, and looks at everything afresh. The first line follows a gap too: what was fetched before it
 * stood may be from before an event that nobody told.
 */

import { createParser } from "eventsource-parser";

import type { Schemas } from "~/api/client";

export type LiveEvent = Schemas["EventAnswer"];
/** `off`: whoever looks may not follow events. */
export type Connection = "connecting" | "live" | "lost" | "off";

const BACKOFF_MS = 500;
export const BACKOFF_MS_MAX = 10_000;
/** The hub gives a sign of life every 15 s; after more than two missed ones the line is dead, whatever the socket says. */
export const SILENCE_MS_MAX = 40_000;

export interface StreamParts {
  url: string;
  fetch: typeof fetch;
  random: () => number;
  onEvent: (event: LiveEvent) => void;
  onConnection: (connection: Connection) => void;
  /** Something may have been missed: everything shown is to be fetched anew. */
  onGap: () => void;
  onSignedOut: () => void;
}

export class EventStream {
  #parts: StreamParts;
  #lastId: string | undefined;
  #failures = 0;
  #isOver = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt: AbortController | undefined;

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#connect();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#attempt?.abort();
  }

  /** Try at once, for when the network came back; nothing happens while it is live or being tried. */
  hurry(): void {
    if (this.#isOver || this.#attempt !== undefined) return;
    clearTimeout(this.#timer);
    void this.#connect();
  }

  async #connect(): Promise<void> {
    const attempt = new AbortController();
    this.#attempt = attempt;
    if (this.#failures === 0) this.#parts.onConnection("connecting");
    let waitMs: number | undefined;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.#lastId !== undefined) headers["Last-Event-ID"] = this.#lastId;
      const response = await this.#parts.fetch(this.#parts.url, { headers, signal: attempt.signal });
      if (this.#isOver) return;
      if (response.status === 401) {
        this.stop();
        this.#parts.onSignedOut();
        return;
      }
      if (response.status === 403) {
        this.stop();
        this.#parts.onConnection("off");
        return;
      }
      if (response.ok && response.body !== null) await this.#read(response.body, attempt);
      else waitMs = Number(response.headers.get("Retry-After")) * 1000 || undefined;
    } catch {
      // Refused, cut off, or silent for too long: in each case the answer is to try again.
    }
    this.#attempt = undefined;
    if (!this.#isOver) this.#later(waitMs);
  }

  async #read(body: ReadableStream<Uint8Array>, attempt: AbortController): Promise<void> {
    let isStanding = false;
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        if (id !== undefined) this.#lastId = id;
        if (event === "resync") this.#parts.onGap();
        else this.#parts.onEvent(JSON.parse(data) as LiveEvent);
      },
    });
    const decoder = new TextDecoder();
    const reader = body.getReader();
    let silence = setTimeout(() => {
      attempt.abort();
    }, SILENCE_MS_MAX);
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isOver) return;
        if (!isStanding) this.#stand();
        isStanding = true;
        clearTimeout(silence);
        silence = setTimeout(() => {
          attempt.abort();
        }, SILENCE_MS_MAX);
        parser.feed(decoder.decode(value, { stream: true }));
      }
    } finally {
      clearTimeout(silence);
      // After a message that cannot be read too: another line is opened then, and this one would stay open beside it.
      attempt.abort();
    }
  }

  /** The hub listens for this line since before its first word, not since it answered: without a leader it only answers. */
  #stand(): void {
    this.#failures = 0;
    this.#parts.onGap();
    this.#parts.onConnection("live");
  }

  #later(askedMs: number | undefined): void {
    this.#parts.onConnection("lost");
    const doubled = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** this.#failures);
    this.#failures += 1;
    const waitMs = Math.min(BACKOFF_MS_MAX, askedMs ?? doubled) * (0.5 + this.#parts.random() / 2);
    this.#timer = setTimeout(() => void this.#connect(), waitMs);
  }
}

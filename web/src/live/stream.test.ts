import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { BACKOFF_MS_MAX, type Connection, EventStream, type LiveEvent, SILENCE_MS_MAX } from "./stream";

/** A hub's side of the stream: it greets, keeps each connection, and the test says what comes over it. */
class FakeHub {
  greeting = ": taskyard\n\n";
  connections: { lastId: string | null; send: (text: string) => void; end: () => void; signal: AbortSignal }[] = [];
  refusals: Response[] = [];

  fetch = (_url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return Promise.resolve(refusal);
    const signal = init?.signal as AbortSignal;
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal.addEventListener("abort", () => {
          controller.error(new DOMException("aborted", "AbortError"));
        });
        this.connections.push({
          lastId: new Headers(init?.headers).get("Last-Event-ID"),
          send: (text) => {
            controller.enqueue(encoder.encode(text));
          },
          end: () => {
            controller.close();
          },
          signal,
        });
        if (this.greeting !== "") this.last.send(this.greeting);
      },
    });
    return Promise.resolve(new Response(body, { status: 200 }));
  };

  get last() {
    const connection = this.connections.at(-1);
    if (connection === undefined) throw new Error("nobody has connected");
    return connection;
  }
}

function message(id: string, name = "task.started"): string {
  return `id: ${id}\nevent: ${name}\ndata: {"id":"${id}","event":"${name}"}\n\n`;
}

let hub: FakeHub;
let events: LiveEvent[];
let connections: Connection[];
let gaps: number;
let signedOut: number;
let stream: EventStream;

beforeEach(() => {
  vi.useFakeTimers();
  hub = new FakeHub();
  [events, connections, gaps, signedOut] = [[], [], 0, 0];
  stream = new EventStream({
    url: "/api/v1/events",
    fetch: hub.fetch,
    random: () => 1,
    onEvent: (event) => events.push(event),
    onConnection: (connection) => connections.push(connection),
    onGap: () => (gaps += 1),
    onSignedOut: () => (signedOut += 1),
  });
});

afterEach(() => {
  stream.stop();
  vi.useRealTimers();
});

const settle = () => vi.advanceTimersByTimeAsync(0);

test("it is live once the hub answers, and tells what comes", async () => {
  stream.start();
  await settle();
  hub.last.send(message("1-1-0"));
  await settle();
  expect(connections).toEqual(["connecting", "live"]);
  expect(events.map((event) => event.id)).toEqual(["1-1-0"]);
});

test("what was fetched before the first line stood may be old, so that is a gap too", async () => {
  hub.greeting = "";
  stream.start();
  await settle();
  expect([gaps, connections]).toEqual([0, ["connecting"]]);
  hub.last.send(": taskyard\n\n");
  await settle();
  expect([gaps, connections]).toEqual([1, ["connecting", "live"]]);
});

test("a hub that answers and says nothing is not live, and is asked less and less often", async () => {
  hub.greeting = "";
  stream.start();
  await settle();
  for (const waitMs of [500, 1000, 2000]) {
    hub.last.end();
    await vi.advanceTimersByTimeAsync(waitMs);
  }
  expect(hub.connections).toHaveLength(4);
  expect(connections).not.toContain("live");
  expect(gaps).toBe(0);
});

test("an event that arrives in pieces is told once, when it is whole", async () => {
  stream.start();
  await settle();
  const whole = message("1-1-0");
  hub.last.send(whole.slice(0, 20));
  await settle();
  expect(events).toEqual([]);
  hub.last.send(whole.slice(20));
  await settle();
  expect(events).toHaveLength(1);
});

test("after the line is cut it goes on from the last event, and says that something may be missing", async () => {
  stream.start();
  await settle();
  hub.last.send(message("1-7-0"));
  await settle();
  hub.last.end();
  await settle();
  expect(connections.at(-1)).toBe("lost");
  await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
  expect(hub.connections).toHaveLength(2);
  expect(hub.last.lastId).toBe("1-7-0");
  expect(connections.at(-1)).toBe("live");
  expect(gaps).toBe(2);
});

test("a resync is a gap and no event, and its place is where it goes on from", async () => {
  stream.start();
  await settle();
  hub.last.send(message("2-9-0", "resync"));
  await settle();
  hub.last.end();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
  expect(events).toEqual([]);
  expect(gaps).toBe(3);
  expect(hub.last.lastId).toBe("2-9-0");
});

test("news without a place do not move the place", async () => {
  stream.start();
  await settle();
  hub.last.send(message("1-3-0") + 'event: task.log\ndata: {"id":null,"event":"task.log"}\n\n');
  await settle();
  hub.last.end();
  await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
  expect(events).toHaveLength(2);
  expect(hub.last.lastId).toBe("1-3-0");
});

test("it waits longer after each failure, never longer than ten seconds", async () => {
  const tried: number[] = [];
  const fetchOnce = hub.fetch;
  hub.refusals = Array.from({ length: 8 }, () => new Response(null, { status: 503 }));
  hub.fetch = (...asked) => {
    tried.push(Date.now());
    return fetchOnce(...asked);
  };
  stream = new EventStream({
    url: "/api/v1/events",
    fetch: (...asked) => hub.fetch(...asked),
    random: () => 1,
    onEvent: () => undefined,
    onConnection: (connection) => connections.push(connection),
    onGap: () => undefined,
    onSignedOut: () => undefined,
  });
  stream.start();
  await vi.advanceTimersByTimeAsync(60_000);
  const waits = tried.slice(1).map((at, index) => at - (tried[index] ?? 0));
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
  expect(connections.at(-1)).toBe("live");
});

test("a line without a sign of life is given up", async () => {
  stream.start();
  await settle();
  const first = hub.last;
  await vi.advanceTimersByTimeAsync(SILENCE_MS_MAX - 1);
  first.send(": alive\n\n");
  await vi.advanceTimersByTimeAsync(SILENCE_MS_MAX - 1);
  expect(first.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(first.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
  expect(hub.connections).toHaveLength(2);
});

test("a line whose messages cannot be read is closed before another is opened", async () => {
  stream.start();
  await settle();
  const first = hub.last;
  first.send("data: {\n\n");
  await vi.advanceTimersByTimeAsync(BACKOFF_MS_MAX);
  expect(hub.connections).toHaveLength(2);
  expect(first.signal.aborted).toBe(true);
});

test("a session that is over ends it", async () => {
  hub.refusals = [new Response(null, { status: 401 })];
  stream.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(signedOut).toBe(1);
  expect(hub.connections).toHaveLength(0);
});

test("whoever may not follow events is told once, and not tried again", async () => {
  hub.refusals = [new Response(null, { status: 403 })];
  stream.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections).toEqual(["connecting", "off"]);
  expect(hub.connections).toHaveLength(0);
});

test("when the network is back it does not wait", async () => {
  hub.refusals = Array.from({ length: 5 }, () => new Response(null, { status: 503 }));
  stream.start();
  await vi.advanceTimersByTimeAsync(7_600);
  hub.refusals = [];
  stream.hurry();
  await settle();
  expect(connections.at(-1)).toBe("live");
});

test("what was stopped stays stopped", async () => {
  stream.start();
  await settle();
  stream.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(hub.connections).toHaveLength(1);
  expect(connections).toEqual(["connecting", "live"]);
});

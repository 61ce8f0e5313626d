import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { Pace } from "./pace";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("asks at once, then at most once a second, and always after the last news", async () => {
  let asked = 0;
  const pace = new Pace(() => Promise.resolve((asked += 1)));
  pace.want();
  await vi.advanceTimersByTimeAsync(0);
  expect(asked).toBe(1);
  pace.want();
  pace.want();
  await vi.advanceTimersByTimeAsync(900);
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(asked).toBe(2);
});

it("leaves a slow answer ten times the time it took", async () => {
  let asked = 0;
  const pace = new Pace(() => {
    asked += 1;
    return new Promise((answered) => setTimeout(answered, 500));
  });
  pace.want();
  await vi.advanceTimersByTimeAsync(100);
  pace.want();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).toBe(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toBe(2);
});

it("asks no more once it was stopped", async () => {
  let asked = 0;
  const pace = new Pace(() => Promise.resolve((asked += 1)));
  pace.want();
  pace.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked).toBe(0);
});

/** When the clocks of a place change next: a run that stays at nine o'clock is an hour off for everybody else. */

import { offsetMs } from "~/lib/zoned";

const DAY_MS = 86_400_000;
const STEP_MS = 7 * DAY_MS;
const AHEAD_MS = 370 * DAY_MS;
const PRECISE_MS = 60_000;

export interface ClockChange {
  at: number;
  byMs: number;
}

/** Null: not within a year. */
export function nextChange(zone: string, from: number): ClockChange | null {
  const before = offsetMs(from, zone);
  for (let at = from + STEP_MS; at <= from + AHEAD_MS; at += STEP_MS) {
    if (offsetMs(at, zone) === before) continue;
    let [low, high] = [at - STEP_MS, at];
    while (high - low > PRECISE_MS) {
      const middle = Math.floor((low + high) / 2);
      if (offsetMs(middle, zone) === before) low = middle;
      else high = middle;
    }
    return { at: high, byMs: offsetMs(high, zone) - before };
  }
  return null;
}

/** "UTC+5:30". */
export function offsetWords(zone: string, at: number): string {
  const minutes = Math.round(offsetMs(at, zone) / PRECISE_MS);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  if (minutes === 0) return "UTC";
  return `UTC${minutes < 0 ? "−" : "+"}${String(hours)}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

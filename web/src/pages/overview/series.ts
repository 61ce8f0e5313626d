/** What the hub wrote down, as lines over time; a step that nobody wrote down is a gap. */

import type { Schemas } from "~/api/client";
import type { History, Range } from "~/api/queries/figures";
import type { Values } from "~/ui/Spark";

export type Point = Schemas["HistoryPoint"];

export interface Steps {
  /** Seconds since 1970, one per step, without holes. */
  times: number[];
  points: (Point | null)[];
}

const STEPS_MAX = 2_000;

/** How far back each range goes from the step that is going on. */
const LENGTH_S: Record<Range, number> = { hour: 3_600, day: 86_400, week: 7 * 86_400, month: 31 * 86_400 };

/** Without the step that is going on: what was counted in part of it would look as if the yard came to a halt. */
export function stepsOf(history: History): Steps {
  const from = Date.parse(history.from) / 1000;
  const step = history.step_s;
  const placed = history.points.map((point) => [Math.round((Date.parse(point.at) / 1000 - from) / step), point] as const);
  const known = new Map(placed.filter(([index]) => index < LENGTH_S[history.range] / step));
  const last = Math.min(STEPS_MAX, Math.max(-1, ...known.keys()));
  const indices = Array.from({ length: last + 1 }, (_, index) => index);
  return {
    times: indices.map((index) => from + index * step),
    points: indices.map((index) => known.get(index) ?? null),
  };
}

/** Null where no hub was there, which breaks the line; undefined where nothing happened to tell of, which does not. */
export function line(steps: Steps, pick: (point: Point) => number | null | undefined): Values {
  return steps.points.map((point) => (point === null ? null : (pick(point) ?? undefined)));
}

/** Per minute, whatever the step. */
export function rate(steps: Steps, stepS: number, pick: (point: Point) => number): Values {
  return line(steps, (point) => (pick(point) * 60) / stepS);
}

import { useMemo } from "react";

import { clock, exact, relative } from "~/lib/format";
import { useNow } from "~/lib/now";
import { useZone } from "~/lib/preferences";
import { offsetMs } from "~/lib/zoned";

import { nextChange, offsetWords } from "./clocks";

interface Props {
  /** What the list is, for a screen reader. */
  label: string;
  runs: readonly string[];
  zone: string;
  /** By the calendar: then it matters when clocks change. */
  byClock: boolean;
}

/** When something will run, on the clocks of the chosen zone and, where those differ, on one's own. */
export function Runs({ label, runs, zone, byClock }: Props) {
  const own = useZone();
  const now = useNow();
  if (runs.length === 0) return <p className="text-ink-2">It never runs: no day of the calendar fits.</p>;
  const today = offsetMs(now, zone);
  return (
    <>
      <ol aria-label={label} className="flex flex-col divide-y divide-line">
        {runs.map((run) => {
          const at = Date.parse(run);
          const differs = offsetMs(at, zone) !== offsetMs(at, own);
          return (
            <li key={run} className="flex flex-wrap items-baseline justify-between gap-x-3 py-1">
              <time dateTime={run} title={exact(at, own)}>
                {dayAndClock(at, zone)}
                {offsetMs(at, zone) !== today && (
                  <span className="ml-2 text-attention">{offsetWords(zone, at)}, after clocks change</span>
                )}
              </time>
              <span className="text-ink-3">
                {differs && `${isSameDay(at, zone, own) ? clock(at, own) : dayAndClock(at, own)} for you · `}
                {relative(at, now)}
              </span>
            </li>
          );
        })}
      </ol>
      {byClock && <ClockNote zone={zone} hour={Math.floor(now / 3_600_000)} />}
    </>
  );
}

function ClockNote({ zone, hour }: { zone: string; hour: number }) {
  const change = useMemo(() => nextChange(zone, hour * 3_600_000), [zone, hour]);
  if (change === null) return null;
  const hours = Math.abs(change.byMs) / 3_600_000;
  const way = change.byMs > 0 ? "forward" : "back";
  return (
    <p className="mt-2 text-ink-3">
      Clocks there go {way} by {hours} h on {dayOf(change.at, zone)}. What runs at a time of day keeps that time.
    </p>
  );
}

function isSameDay(at: number, zone: string, other: string): boolean {
  return dayOf(at, zone) === dayOf(at, other);
}

function dayAndClock(at: number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  }).format(at);
}

function dayOf(at: number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, day: "numeric", month: "long", year: "numeric" }).format(at);
}

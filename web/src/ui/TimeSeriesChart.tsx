import "uplot/dist/uPlot.min.css";

import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";

import { duration, short } from "~/lib/format";
import { useIsDark, useZone } from "~/lib/preferences";

import type { Values } from "./Spark";

export interface Series {
  label: string;
  /** One per time. */
  values: Values;
  /** The name of a colour: "accent", "attention-dot", "failed", "quiet-dot", "well". */
  colour: string;
  filled?: boolean;
  dashed?: boolean;
}

const AXIS_PX = 14;
const CHAR_PX = 6.5;
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
/** Steps of an axis that people count time by. */
const DURATIONS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 4, 6, 12, 24, 48, 96].map((count) => count * HOUR),
];

interface Props {
  label: string;
  times: number[];
  series: Series[];
  height: number;
  format?: (value: number) => string;
  stacked?: boolean;
}

/**
 * A canvas knows no CSS variables: what a colour is in the theme that is shown. Asked of an element that is new, since one
 * that was there would still have its old colour while it changes over, be it for the hundredth of a millisecond.
 */
function colourOf(element: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--color-${name})`;
  element.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export default function TimeSeriesChart({ label, times, series, height, format = short, stacked = false }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const isDark = useIsDark();
  const zone = useZone();
  const looks = series.map((one) => [one.label, one.colour, one.filled, one.dashed, isSparse(one)].join()).join(";");

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const line = colourOf(element, "line");
    const ink = colourOf(element, "ink-3");
    const font = `11px ${getComputedStyle(element).fontFamily}`;
    const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        padding: [8, 16, 0, 0],
        cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
        tzDate: (at) => uPlot.tzDate(new Date(at * 1000), zone),
        scales: { y: { range: (_self, _low, high) => [0, Math.max(1, high * 1.08)] } },
        bands: stacked ? series.slice(1).map((_, index) => ({ series: [index + 2, index + 1] as [number, number] })) : [],
        axes: [
          {
            ...axis,
            size: 36,
            grid: { show: false },
            values: [
              [86400, "{WWW} {D}", null, null, null, null, null, null, 1],
              [60, "{HH}:{mm}", "\n{WWW} {D} {MMM}", null, null, null, null, null, 1],
            ],
          },
          {
            ...axis,
            size: (_self, labels) => AXIS_PX + CHAR_PX * Math.max(0, ...(labels ?? []).map((label) => label.length)),
            values: (_self, marks) => marks.map((mark) => format(mark)),
            ...(format === duration ? { incrs: DURATIONS_MS } : {}),
          },
        ],
        series: [
          {},
          ...series.map((one) => {
            const colour = colourOf(element, one.colour);
            return {
              label: one.label,
              stroke: colour,
              width: 1.5,
              ...(one.filled === true ? { fill: faded(colour) } : {}),
              ...(one.dashed === true ? { dash: [4, 3] } : {}),
              points: { show: isSparse(one), size: 5, fill: colour },
              spanGaps: false,
            };
          }),
        ],
        hooks: { setCursor: [(self) => { setPointed(self.cursor.idx ?? null); }] },
      },
      dataOf(times, series, stacked),
      element,
    );
    chart.current = made;
    const watch = new ResizeObserver(() => {
      made.setSize({ width: element.clientWidth, height });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      chart.current = null;
    };
    // The values follow below; a chart is made anew only when it looks different.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [looks, height, isDark, zone, stacked, format]);

  useEffect(() => {
    chart.current?.setData(dataOf(times, series, stacked));
  }, [times, series, stacked]);

  const at = pointed ?? times.length - 1;
  return (
    <figure className="min-w-0">
      <div ref={place} role="img" aria-label={label} className="w-full overflow-hidden" />
      <figcaption className="flex min-h-7 flex-wrap items-center gap-x-4 gap-y-1 pt-2">
        {series.map((one) => (
          <span key={one.label} className="inline-flex items-center gap-1.5 text-ink-2">
            <span aria-hidden className="h-0.5 w-3" style={{ background: `var(--color-${one.colour})` }} />
            {one.label}
            <span className="font-medium text-ink">{valueAt(one, at, format)}</span>
          </span>
        ))}
        {pointed !== null && times[pointed] !== undefined && <span className="ml-auto text-ink-3">{timeAt(times[pointed], zone)}</span>}
      </figcaption>
    </figure>
  );
}

/** A line of a single point would not be seen. */
function isSparse(series: Series): boolean {
  return series.values.filter((value) => value != null).length < 3;
}

/** Computed colours are always written "rgb(…)". */
function faded(colour: string): string {
  return colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.16)");
}

function valueAt(series: Series, index: number, format: (value: number) => string): string {
  const value = series.values[index];
  return value == null ? "–" : format(value);
}

function timeAt(seconds: number, zone: string): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: zone, weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }).format(seconds * 1000);
}

function dataOf(times: number[], series: Series[], stacked: boolean): uPlot.AlignedData {
  if (!stacked) return [times, ...series.map((one) => [...one.values])];
  const sums = times.map(() => 0);
  const layers = series.map((one) =>
    times.map((_, index) => {
      const value = one.values[index];
      if (value == null) return value;
      sums[index] = (sums[index] ?? 0) + value;
      return sums[index] ?? null;
    }),
  );
  return [times, ...layers];
}

import { lazy, Suspense } from "react";

import type { Series } from "./TimeSeriesChart";

export type { Series } from "./TimeSeriesChart";

const Chart = lazy(() => import("./TimeSeriesChart"));

interface Props {
  /** What it shows, in a sentence: charts are pictures to a screen reader. */
  label: string;
  /** Seconds since 1970, in order. */
  times: number[];
  series: Series[];
  height?: number;
  /** How a value is written on the axis and beside the pointer. */
  format?: (value: number) => string;
  /** Each on top of the one before. */
  stacked?: boolean;
}

/** uPlot, fetched when the first chart is shown. */
export function TimeSeries({ height = 200, ...rest }: Props) {
  return (
    <Suspense fallback={<div style={{ height: height + LEGEND_PX }} />}>
      <Chart height={height} {...rest} />
    </Suspense>
  );
}

const LEGEND_PX = 28;

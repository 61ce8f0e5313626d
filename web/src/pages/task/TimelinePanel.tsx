import { useState } from "react";

import type { Task } from "~/api/client";
import { cx } from "~/lib/classes";
import { clock, counted, duration, exact, instant } from "~/lib/format";
import { useNow } from "~/lib/now";
import { useZone } from "~/lib/preferences";
import type { Whose } from "~/lib/whose";
import { Badge, DOTS } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { Loaded } from "~/ui/Loaded";
import { Panel } from "~/ui/Panel";

import { AttemptDetails, Checkpoint } from "./AttemptDetails";
import { ATTEMPT } from "./said";
import { placeOf, type Span, spansOf } from "./timeline";
import { useEvents } from "./useTask";

const SHOWN_MAX = 30;
const DAY_MS = 20 * 3600_000;

/** Bars over time: what it waited for and for how long, who worked on it and how that ended. */
export function TimelinePanel({ task, whose }: { task: Task; whose: Whose }) {
  const events = useEvents(task, whose);
  const tried = task.attempts?.length ?? 0;
  return (
    <Panel title="Timeline" aside={tried > 0 && <span className="text-ink-3">{counted(tried, "attempt")}</span>} flush>
      <Loaded query={events}>{(told) => <Spans task={task} spans={spansOf(task, told)} />}</Loaded>
    </Panel>
  );
}

function Spans({ task, spans }: { task: Task; spans: Span[] }) {
  const [isWhole, setIsWhole] = useState(false);
  if (spans.length === 0) {
    return <p className="px-4 py-4 text-ink-2">Nothing took long enough to be drawn; the events have every step.</p>;
  }
  const shown = isWhole ? spans : spans.slice(-SHOWN_MAX);
  const hidden = spans.length - shown.length;
  return (
    <div className="py-2">
      {hidden > 0 && (
        <Button
          look="bare"
          className="mx-2"
          onClick={() => {
            setIsWhole(true);
          }}
        >
          {`Show ${String(hidden)} earlier`}
        </Button>
      )}
      <Bars task={task} spans={shown} isWhole={hidden === 0} />
      <div className="px-4 empty:hidden">
        <Checkpoint task={task} />
      </div>
    </div>
  );
}

/** Name, bar, outcome and length; on a phone the bar has a line of its own. */
const ROW = "grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-3 gap-y-1 md:grid-cols-[12rem_minmax(0,1fr)_6rem_4.5rem]";

function Bars({ task, spans, isWhole }: { task: Task; spans: Span[]; isWhole: boolean }) {
  const now = useNow();
  const zone = useZone();
  const last = spans.at(-1);
  const first = spans[0]?.from ?? now;
  const start = isWhole ? Math.min(first, instant(task.created_at) ?? first) : first;
  const end = Math.max(start + 1, last?.to ?? now);
  const withDay = end - start > DAY_MS;
  return (
    <>
      <ol aria-label="Timeline">
        {spans.map((span) => (
          <Bar key={span.id} span={span} start={start} end={end} />
        ))}
      </ol>
      <div className={cx(ROW, "px-4 py-1 text-xs text-ink-3")}>
        <p className="col-span-3 flex justify-between md:col-span-1 md:col-start-2">
          <span title={exact(start, zone)}>{clock(start, zone, { withDay })}</span>
          <span>{duration(end - start)} in total</span>
          <span title={exact(end, zone)}>{last?.to == null ? "now" : clock(end, zone, { withDay })}</span>
        </p>
      </div>
    </>
  );
}

interface BarProps {
  span: Span;
  start: number;
  end: number;
}

function Bar({ span, start, end }: BarProps) {
  const zone = useZone();
  const { left, width } = placeOf(span, start, end);
  const outcome = span.attempt === null ? null : ATTEMPT[span.attempt.status];
  const said = `${exact(span.from, zone)}${span.to === null ? ", goes on" : ` to ${exact(span.to, zone)}`}`;
  return (
    <li className="px-4 py-1.5">
      <div className={ROW}>
        <span className={cx("truncate", span.attempt === null && "text-ink-2")} title={span.name}>
          {span.name}
        </span>
        <span className="md:order-3">
          {span.attempt !== null && outcome !== null && (
            <Badge tone={outcome.tone} title={outcome.means} pulses={span.attempt.status === "running"}>
              {outcome.label}
            </Badge>
          )}
        </span>
        <span className="text-right whitespace-nowrap text-ink-2 md:order-4">{duration((span.to ?? end) - span.from)}</span>
        <span aria-hidden title={said} className="relative col-span-3 h-3.5 overflow-hidden rounded-sm bg-sunken md:order-2 md:col-span-1">
          <span
            className={cx(
              "absolute inset-y-0 min-w-1 rounded-sm",
              span.tone === "neutral" ? "bg-line-strong" : DOTS[span.tone],
              span.to === null && "pulse",
            )}
            style={{ left: `min(${String(left * 100)}%, calc(100% - 4px))`, width: `${String(width * 100)}%` }}
          />
        </span>
      </div>
      {span.attempt !== null && (
        <div className="mt-1 flex flex-col gap-1 empty:hidden md:pl-[12.75rem]">
          <AttemptDetails attempt={span.attempt} />
        </div>
      )}
    </li>
  );
}

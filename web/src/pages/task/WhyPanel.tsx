import { Lightbulb } from "lucide-react";
import { Link } from "@tanstack/react-router";

import type { Schemas, Task } from "~/api/client";
import { cx } from "~/lib/classes";
import { counted, instant } from "~/lib/format";
import { useSaidNow } from "~/lib/now";
import type { Whose } from "~/lib/whose";
import { DOTS } from "~/ui/Badge";
import { Loaded } from "~/ui/Loaded";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { Sentence } from "~/ui/Sentence";
import { Skeleton } from "~/ui/Skeleton";

import { useWhy } from "./useTask";

type Why = Schemas["WhyAnswer"];
type Reason = Schemas["ReasonAnswer"];
type Considered = Schemas["ConsideredAnswer"];

const NEAR_MS = 3_000;

/** Why it stands as it stands, what would change that, and what each daemon lacks. */
export function WhyPanel({ task, whose }: { task: Task; whose: Whose }) {
  const why = useWhy(task, whose);
  return (
    <Panel title={why.data === undefined || why.data.reasons.length === 0 ? "How it stands" : "Why it is not running"} flush>
      <Loaded query={why} loading={<div className="p-4"><Skeleton className="h-5 w-2/3" /></div>}>
        {(said) => <Said why={said} whose={whose} />}
      </Loaded>
    </Panel>
  );
}

function Said({ why, whose }: { why: Why; whose: Whose }) {
  // One reason alone is what the summary says already.
  const only = why.reasons.length === 1 ? why.reasons[0] : undefined;
  return (
    <div className="flex flex-col">
      <div className="flex flex-col gap-1 px-4 py-3">
        <p className="text-base">
          <Sentence text={why.summary} whose={whose} />
        </p>
        <Forecast why={why} />
        {only !== undefined && <Help reason={only} whose={whose} />}
      </div>
      {only === undefined && why.reasons.length > 0 && (
        <ol aria-label="What holds it" className="divide-y divide-line border-t border-line">
          {why.reasons.map((reason) => (
            <ReasonRow key={`${reason.code}-${reason.message}`} reason={reason} whose={whose} />
          ))}
        </ol>
      )}
      {why.daemons.length > 0 && <Daemons daemons={why.daemons} />}
    </div>
  );
}

function Forecast({ why }: { why: Why }) {
  if (why.position === null && why.estimated_start === null) return null;
  return (
    <p className="text-ink-2">
      {why.position !== null && `Number ${String(why.position)} in its line. `}
      {why.estimated_start !== null && (
        <>
          Probably starts <Soon at={why.estimated_start} />.
        </>
      )}
    </p>
  );
}

/** An estimate that has come or passed is no time of day but a hope. */
function Soon({ at }: { at: string }) {
  const isNear = useSaidNow((now) => String((instant(at) ?? 0) < now + NEAR_MS)) === "true";
  return isNear ? "any moment now" : <RelativeTime at={at} />;
}

interface ReasonProps {
  reason: Reason;
  whose: Whose;
}

function ReasonRow({ reason, whose }: ReasonProps) {
  const [used, limit] = [reason.used, reason.limit];
  return (
    <li className="flex flex-col gap-1 px-4 py-2.5">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p>
          <Sentence text={reason.message} whose={whose} />
        </p>
        <p className="flex gap-3 text-xs text-ink-3">
          {used !== null && limit !== null && <span>{`${String(used)} of ${String(limit)}`}</span>}
          {reason.until !== null && (
            <span>
              ends <RelativeTime at={reason.until} />
            </span>
          )}
        </p>
      </div>
      <Help reason={reason} whose={whose} />
    </li>
  );
}

function Help({ reason, whose }: ReasonProps) {
  if (reason.would_help === null) return null;
  return (
    <p className="flex items-start gap-2 text-ink-2">
      <Lightbulb aria-hidden className="mt-0.5 size-4 shrink-0 text-accent" />
      <span>
        <Sentence text={helpWords(reason.would_help)} whose={whose} />
      </span>
    </p>
  );
}

/** The hub says "It would start now with …" where one thing alone is in the way, and names the thing elsewhere. */
function helpWords(said: string): string {
  return said.startsWith("It would start now") ? `${said}.` : `What would help: ${said}.`;
}

function Daemons({ daemons }: { daemons: readonly Considered[] }) {
  const fit = daemons.filter((daemon) => daemon.eligible).length;
  return (
    <details className="border-t border-line" open={fit === 0 || daemons.length <= 6}>
      <summary className="px-4 py-2 font-medium -outline-offset-2 hover:bg-page">
        Daemons considered
        <span className="ml-2 font-normal text-ink-3">{`${String(fit)} of ${counted(daemons.length, "daemon")} could run it`}</span>
      </summary>
      <ul aria-label="Daemons considered" className="grid gap-x-6 gap-y-1.5 px-4 pt-1 pb-3 sm:grid-cols-2">
        {daemons.map((daemon) => (
          <li key={daemon.id} className="flex min-w-0 items-start gap-2">
            <span
              aria-hidden
              className={cx("mt-1.5 size-2 shrink-0 rounded-full", DOTS[daemon.eligible ? "well" : "quiet"])}
            />
            <Link to="/daemons" className="shrink-0 hover:underline">
              {daemon.name}
            </Link>
            <span className="min-w-0 text-ink-2">
              {daemon.eligible ? "could run it" : daemon.lacks.map((lack) => lack.message).join("; ")}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

import { useQuery } from "@tanstack/react-query";
import { CirclePlay, Pencil, Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import type { Schedule, Schemas } from "~/api/client";
import { nextRunsQuery, runsQuery } from "~/api/queries/schedules";
import { useShortcut } from "~/keyboard/shortcuts";
import { duration } from "~/lib/format";
import { useZone } from "~/lib/preferences";
import { GENERAL } from "~/task-form/taskDraft";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { Loaded } from "~/ui/Loaded";
import { RelativeTime } from "~/ui/RelativeTime";
import { StatusBadge } from "~/ui/StatusBadge";
import { Switch } from "~/ui/Switch";
import { TaskLink } from "~/ui/TaskLink";

import type { Acts } from "./acts";
import { Runs } from "./Runs";
import { CATCH_UP, skipWords } from "./sentences";
import { useToggle } from "./useToggle";
import { whenOf } from "./when";

interface Props {
  schedule: Schedule;
  acts: Acts;
  onRun: () => void;
  onEdit: () => void;
  onDelete: () => void;
}

/** Everything about one schedule: when it runs, what it makes, and what became of it. */
export function Details({ schedule, acts, onRun, onEdit, onDelete }: Props) {
  const own = useZone();
  const toggle = useToggle(schedule, acts);
  const next = useQuery(nextRunsQuery(schedule.id, acts.whoseOf(schedule)));
  const isCron = schedule.cron !== null;
  const zone = isCron ? schedule.timezone : own;
  useShortcut("r", "Run the schedule now", onRun);
  useShortcut("e", "Edit the schedule", onEdit);
  return (
    <div className="flex flex-col gap-4 p-4">
      <div className="flex flex-wrap items-center gap-2">
        <span className="flex-1 max-sm:basis-full">
          <Switch label={toggle.on ? "On" : "Off"} on={toggle.on} disabled={toggle.isBusy} onChange={toggle.set} />
        </span>
        <Button icon={<CirclePlay />} onClick={onRun}>
          Run now
        </Button>
        <Button icon={<Pencil />} onClick={onEdit}>
          Edit
        </Button>
        <Button look="danger" icon={<Trash2 />} onClick={onDelete}>
          Delete
        </Button>
      </div>
      <Facts schedule={schedule} />
      <Part title={schedule.enabled ? "Next runs" : "Next runs, if it were on"}>
        <Loaded query={next}>
          {(runs) => <Runs label="Next runs" runs={runs} zone={zone} byClock={isCron} />}
        </Loaded>
      </Part>
      <Part title="History">
        <History schedule={schedule} acts={acts} />
      </Part>
    </div>
  );
}

function Facts({ schedule }: { schedule: Schedule }) {
  const task = schedule.task as { input?: string; title?: string; type?: string };
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
      <Fact name="When">
        <span className="w-full">{whenOf(schedule)}</span>
        {schedule.cron !== null && (
          <span className="text-ink-3">
            {schedule.timezone.replaceAll("_", " ")} · <code className="font-mono text-xs">{schedule.cron}</code>
          </span>
        )}
      </Fact>
      <Fact name="Makes">
        <span className="line-clamp-3 w-full whitespace-pre-wrap">{task.title ?? task.input}</span>
        <span className="text-ink-3">A task of type {task.type ?? GENERAL}</span>
      </Fact>
      <Fact name="If missed">
        {CATCH_UP[schedule.catch_up].label}
        {schedule.max_lateness !== null && `, at most ${duration(schedule.max_lateness * 1000)} late`}
      </Fact>
      {schedule.probe != null && <Fact name="Probe">It asks first whether there is anything to do.</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="flex min-w-0 flex-wrap gap-x-1">{children}</dd>
    </>
  );
}

function History({ schedule, acts }: { schedule: Schedule; acts: Acts }) {
  const runs = useQuery(runsQuery(schedule.id, acts.whoseOf(schedule)));
  return (
    <Loaded query={runs}>
      {(rows) =>
        rows.length === 0 ? (
          <p className="text-ink-2">It has not run yet. “Run now” tries it without waiting.</p>
        ) : (
          <ul aria-label="History" className="flex flex-col divide-y divide-line">
            {rows.map((run, at) => (
              <li key={`${run.due_at} ${String(at)}`} className="flex flex-wrap items-baseline justify-between gap-x-3 py-1.5">
                <Became run={run} owner={schedule.user_id} />
                <span className="text-ink-3">
                  <RelativeTime at={run.at} />
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function Became({ run, owner }: { run: Schemas["RunAnswer"]; owner: string }) {
  if (run.reason !== null) {
    return (
      <span className="flex min-w-0 flex-wrap gap-x-2">
        <Badge tone="quiet">{run.count > 1 ? `Skipped ${String(run.count)} times` : "Skipped"}</Badge>
        <span className="text-ink-2">{skipWords({ reason: run.reason, code: run.code })}</span>
      </span>
    );
  }
  return (
    <span className="flex min-w-0 flex-wrap gap-x-2">
      {run.status !== null ? <StatusBadge status={run.status} /> : <Badge tone="quiet">Gone</Badge>}
      {run.task_id !== null && run.ref !== null && (
        <TaskLink task={{ id: run.task_id, ref: run.ref, user_id: owner, input: "" }} className="text-accent hover:underline">
          {run.ref}
        </TaskLink>
      )}
    </span>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="border-t border-line pt-3">
      <h3 className="mb-1 font-semibold">{title}</h3>
      {children}
    </section>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Task } from "~/api/client";
import { usersQuery } from "~/api/queries/people";
import { useMe } from "~/api/queries/session";
import { duration } from "~/lib/format";
import { CopyId } from "~/ui/CopyId";
import { Elapsed } from "~/ui/Duration";
import { LevelBadge } from "~/ui/LevelBadge";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { LEVEL, SOURCE } from "~/words";

/** What is known of it at a glance; what is not set is not listed. */
export function FactsPanel({ task }: { task: Task }) {
  const isOthers = useMe().id !== task.user_id;
  return (
    <Panel title="Facts">
      <dl className="flex flex-col gap-2.5">
        {factsOf(task, isOthers).map(([name, value]) => (
          <div key={name} className="grid grid-cols-[7rem_minmax(0,1fr)] gap-3">
            <dt className="text-ink-2">{name}</dt>
            <dd className="min-w-0 break-words [&>button]:-ml-1">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}

type Fact = [string, ReactNode];

function factsOf(task: Task, isOthers: boolean): Fact[] {
  const { requirements: needs, execution } = task;
  const facts: (Fact | false)[] = [
    ["Id", <CopyId key="id" value={task.id} label="the id" />],
    isOthers && ["Owner", <Owner key="owner" id={task.user_id} />],
    ["Type", task.type],
    ["Priority", <Priority key="priority" task={task} />],
    ["Queue", <Link key="queue" to="/queues" className="hover:underline">{task.queue}</Link>],
    task.model !== null && ["Model", task.model],
    ["Source", <Source key="source" task={task} />],
    task.project_id !== null && ["Project", task.project_id],
    ...timesOf(task),
    (needs.capabilities ?? []).length > 0 && ["Needs", needs.capabilities?.join(", ")],
    needs.memory_mb != null && ["Memory", `${String(needs.memory_mb)} MB`],
    needs.target_daemon != null && ["Only on", needs.target_daemon],
    (needs.excluded_daemons ?? []).length > 0 && ["Not on", needs.excluded_daemons?.join(", ")],
    execution.timeout !== undefined && ["Time limit", duration(execution.timeout * 1000)],
    execution.max_attempts !== undefined && ["Attempts", `at most ${String(execution.max_attempts)}`],
    execution.exclusive != null && ["Alone as", execution.exclusive],
    task.correlation_id !== null && ["Correlation", <CopyId key="of" value={task.correlation_id} label="the correlation id" />],
    task.idempotency_key !== null && ["Idempotency key", <CopyId key="key" value={task.idempotency_key} label="the idempotency key" />],
  ];
  return facts.filter((fact) => fact !== false);
}

function timesOf(task: Task): (Fact | false)[] {
  return [
    ["Submitted", <RelativeTime key="created" at={task.created_at} />],
    task.scheduled_for !== null && ["Not before", <RelativeTime key="for" at={task.scheduled_for} />],
    task.not_before != null && task.not_before !== task.scheduled_for && ["Next try", <RelativeTime key="next" at={task.not_before} />],
    task.deadline !== null && ["Deadline", <RelativeTime key="deadline" at={task.deadline} />],
    task.sla !== null && ["Promised for", <RelativeTime key="sla" at={task.sla} />],
    task.started_at != null && ["Started", <RelativeTime key="started" at={task.started_at} />],
    task.completed_at != null && ["Ended", <RelativeTime key="ended" at={task.completed_at} />],
    ["Total time", <Elapsed key="all" from={task.created_at} to={task.completed_at} />],
  ];
}

/** Only admins come across others' tasks, and they know everybody's name. */
function Owner({ id }: { id: string }) {
  const users = useQuery(usersQuery);
  return users.data?.find((user) => user.id === id)?.name ?? id;
}

function Source({ task: { source } }: { task: Task }) {
  const said = [SOURCE[source.type ?? "user"], source.channel].filter((one) => one != null).join(" · ");
  return (
    <span className="flex min-w-0 flex-wrap gap-x-1">
      {source.type === "schedule" ? (
        <Link to="/workflows" className="hover:underline">
          {said}
        </Link>
      ) : (
        said
      )}
      {source.id != null && <CopyId value={source.id} label="the source's id" />}
    </span>
  );
}

function Priority({ task }: { task: Task }) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <LevelBadge level={task.priority} />
      {task.raised_from != null && <span className="text-ink-3">{`raised from ${LEVEL[task.raised_from].label.toLowerCase()}`}</span>}
      {task.aged === true && <span className="text-ink-3">ordered as normal: it waited long</span>}
    </span>
  );
}

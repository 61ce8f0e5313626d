import { type ReactNode, useState } from "react";

import type { Task } from "~/api/client";
import { useMe } from "~/api/queries/session";
import { useFilters } from "~/lib/filters";
import { whoseStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";
import type { Whose } from "~/lib/whose";
import { CopyId } from "~/ui/CopyId";
import { LevelBadge } from "~/ui/LevelBadge";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";
import { StatusBadge } from "~/ui/StatusBadge";
import { Tabs } from "~/ui/Tabs";
import { titleOf } from "~/words";

import { Actions } from "./Actions";
import { ErrorPanel } from "./ErrorPanel";
import { EventsPanel } from "./EventsPanel";
import { FactsPanel } from "./FactsPanel";
import { GivenPanel } from "./GivenPanel";
import { GraphPanel } from "./graph/GraphPanel";
import { LogPanel } from "./log/LogPanel";
import { ProgressLine } from "./ProgressLine";
import { ResultPanel } from "./ResultPanel";
import { TimelinePanel } from "./TimelinePanel";
import { useGraph, useTaskLive } from "./useTask";
import { WhyPanel } from "./WhyPanel";

interface Props {
  task: Task;
  /** As the address names it. */
  asked: string;
  whose: Whose;
}

export function TaskView({ task, asked, whose }: Props) {
  useTaskLive(task, asked, whose);
  return (
    <>
      <PageHeader title={titleOf(task)} name={`${task.ref} ${titleOf(task)}`} actions={<Actions task={task} whose={whose} />}>
        <span className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-1">
          <span className="-ml-1">
            <CopyId value={task.ref} label="the ref" />
          </span>
          <span role="status" aria-label="Status">
            <StatusBadge status={task.status} />
          </span>
          <LevelBadge level={task.priority} />
          <span>
            submitted <RelativeTime at={task.created_at} />
          </span>
        </span>
      </PageHeader>
      <NotLive task={task} />
      <ProgressLine task={task} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="flex min-w-0 flex-col gap-4">
          {task.status !== "permanently_failed" && <WhyPanel task={task} whose={whose} />}
          <ErrorPanel task={task} whose={whose} />
          <TimelinePanel task={task} whose={whose} />
          <Views task={task} whose={whose} />
        </div>
        <FactsPanel task={task} />
      </div>
    </>
  );
}

type View = "log" | "given" | "result" | "tied" | "events";
const VIEWS: readonly View[] = ["log", "given", "result", "tied", "events"];

/** What is most likely looked for. Decided once: a task that ends takes no log away from whoever reads it. */
function firstView(task: Task): View {
  if (task.status === "completed") return "result";
  if ((task.attempts ?? []).length > 0) return "log";
  return task.depends_on.length > 0 ? "tied" : "given";
}

function Views({ task, whose }: { task: Task; whose: Whose }) {
  const [first] = useState(() => firstView(task));
  const [{ view: asked }, setFilters] = useFilters();
  const graph = useGraph(task, whose);
  const view = VIEWS.find((one) => one === asked) ?? first;
  const tied = (graph.data?.nodes.length ?? 1) - 1;
  const tabs = [
    { id: "log", label: "Log" },
    { id: "given", label: "Input" },
    { id: "result", label: "Result" },
    { id: "tied", label: "Tied tasks", count: tied > 0 ? tied : undefined },
    { id: "events", label: "Events" },
  ];
  const panels: Record<View, () => ReactNode> = {
    log: () => <LogPanel task={task} whose={whose} />,
    given: () => <GivenPanel task={task} whose={whose} />,
    result: () => <ResultPanel task={task} />,
    tied: () => <GraphPanel task={task} whose={whose} />,
    events: () => <EventsPanel task={task} whose={whose} />,
  };
  return (
    <Panel flush>
      <Tabs
        label="What to see of it"
        tabs={tabs}
        value={view}
        onChange={(next) => {
          setFilters({ view: next });
        }}
      >
        {panels[view]()}
      </Tabs>
    </Panel>
  );
}

/** The stream tells of those that an admin has chosen to look at; of others this page would show what was. */
function NotLive({ task }: { task: Task }) {
  const me = useMe();
  const chosen = useStore(whoseStore);
  if (task.user_id === me.id ? chosen === "" || chosen === "*" || chosen === me.id : chosen === "*" || chosen === task.user_id) return null;
  return (
    <p role="status" className="mb-4 flex flex-wrap items-center gap-x-3 rounded-md border border-line bg-attention-soft px-4 py-2 text-attention">
      You look at the tasks of somebody else, so this one is not shown live.
      <button
        type="button"
        className="font-medium underline"
        onClick={() => {
          whoseStore.set("*");
        }}
      >
        Look at everybody’s
      </button>
    </p>
  );
}

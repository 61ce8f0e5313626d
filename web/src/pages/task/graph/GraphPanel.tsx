import { Workflow } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import type { Schemas, Task } from "~/api/client";
import { counted } from "~/lib/format";
import { useIsNarrow } from "~/lib/narrow";
import type { Whose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { SkeletonRows } from "~/ui/Skeleton";

import { useGraph } from "../useTask";
import { TiedList } from "./TiedList";

const GraphView = lazy(() => import("./GraphView"));

/** What it is tied to: drawn where there is room for a drawing, and always to be had as a list. */
export function GraphPanel({ task, whose }: { task: Task; whose: Whose }) {
  const graph = useGraph(task, whose);
  return <Loaded query={graph}>{(data) => <Tied task={task} data={data} />}</Loaded>;
}

function Tied({ task, data }: { task: Task; data: Schemas["GraphAnswer"] }) {
  const isNarrow = useIsNarrow();
  const [chosen, setChosen] = useState<"graph" | "list" | null>(null);
  const view = chosen ?? (isNarrow ? "list" : "graph");
  if (data.nodes.length <= 1) {
    return (
      <EmptyState icon={<Workflow />} title="It stands alone">
        It depends on no task, none depends on it, and it has no sub-tasks.
      </EmptyState>
    );
  }
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
        <p className="flex-1 text-ink-2">
          {`${counted(data.nodes.length - 1, "other task")} tied to it`}
          {data.truncated && "; there are more, further away"}
          {data.edges.some((edge) => edge.kind === "subtask") && " (dashed: sub-tasks)"}
        </p>
        <div role="group" aria-label="Show as" className="flex gap-1">
          {(["graph", "list"] as const).map((one) => (
            <Button
              key={one}
              look={view === one ? "plain" : "bare"}
              aria-pressed={view === one}
              onClick={() => {
                setChosen(one);
              }}
            >
              {one === "graph" ? "Graph" : "List"}
            </Button>
          ))}
        </div>
      </div>
      {view === "list" ? (
        <TiedList task={task} data={data} />
      ) : (
        <Suspense fallback={<SkeletonRows rows={4} />}>
          <GraphView task={task} data={data} />
        </Suspense>
      )}
    </>
  );
}

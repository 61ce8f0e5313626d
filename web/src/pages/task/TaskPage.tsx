import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";

import { asProblem } from "~/api/problem";
import { useFilters } from "~/lib/filters";
import type { Whose } from "~/lib/whose";
import { ErrorState } from "~/ui/ErrorState";
import { PageHeader } from "~/ui/PageHeader";
import { Skeleton, SkeletonRows } from "~/ui/Skeleton";
import { Panel } from "~/ui/Panel";

import { NoSuchTask } from "./NoSuchTask";
import { TaskView } from "./TaskView";
import { useTask } from "./useTask";

export default function TaskPage() {
  const { id = "" } = useParams({ strict: false });
  const [{ user }] = useFilters();
  const whose: Whose = useMemo(() => (user === undefined ? {} : { user }), [user]);
  const task = useTask(id, whose);
  if (task.data !== undefined) return <TaskView key={`${id} ${user ?? ""}`} task={task.data} asked={id} whose={whose} />;
  if (task.error !== null) {
    if (asProblem(task.error).isNotFound) return <NoSuchTask id={id} />;
    return <ErrorState error={task.error} onRetry={() => void task.refetch()} />;
  }
  return (
    <>
      <PageHeader title="Task">
        <Skeleton className="mt-1 h-4 w-48" />
      </PageHeader>
      <Panel flush>
        <SkeletonRows />
      </Panel>
    </>
  );
}

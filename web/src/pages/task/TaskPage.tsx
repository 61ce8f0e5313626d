import { useQuery } from "@tanstack/react-query";
import { Navigate, useParams } from "@tanstack/react-router";
import { useMemo } from "react";

import { asProblem } from "~/api/problem";
import { useIsAdmin } from "~/api/queries/session";
import { useFilters } from "~/lib/filters";
import type { Whose } from "~/lib/whose";
import { ErrorState } from "~/ui/ErrorState";
import { PageHeader } from "~/ui/PageHeader";
import { Skeleton, SkeletonRows } from "~/ui/Skeleton";
import { Panel } from "~/ui/Panel";

import { NoSuchTask, tasksLikeQuery } from "./NoSuchTask";
import { TaskView } from "./TaskView";
import { useTask } from "./useTask";

export default function TaskPage() {
  const { id = "" } = useParams({ strict: false });
  const [{ user }] = useFilters();
  return user === "*" ? <Somebodys id={id} user={user} /> : <OneTask key={`${id} ${user ?? ""}`} id={id} user={user} />;
}

function OneTask({ id, user }: { id: string; user: string | undefined }) {
  const isAdmin = useIsAdmin();
  const whose: Whose = useMemo(() => (user === undefined ? {} : { user }), [user]);
  const task = useTask(id, whose);
  if (task.data !== undefined) return <TaskView task={task.data} asked={id} whose={whose} />;
  if (task.error !== null) {
    if (asProblem(task.error).isNotFound) return isAdmin ? <Somebodys id={id} user={user} /> : <NoSuchTask id={id} />;
    return <ErrorState error={task.error} onRetry={() => void task.refetch()} />;
  }
  return <Awaited />;
}

/** An id names one task among everybody's, so an admin who does not say whose it is is led there; a ref could be anybody's. */
function Somebodys({ id, user }: { id: string; user: string | undefined }) {
  const found = useQuery(tasksLikeQuery(id));
  const meant = found.data?.find((task) => task.id === id);
  if (meant !== undefined && meant.user_id !== user) return <Navigate to="/tasks/$id" params={{ id }} search={{ user: meant.user_id }} replace />;
  return found.isPending ? <Awaited /> : <NoSuchTask id={id} />;
}

function Awaited() {
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

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { SearchX } from "lucide-react";

import { useIsAdmin } from "~/api/queries/session";
import { someTasksQuery } from "~/api/queries/tasks";
import { EmptyState } from "~/ui/EmptyState";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { StatusBadge } from "~/ui/StatusBadge";
import { TaskLink } from "~/ui/TaskLink";
import { titleOf } from "~/words";

const FOUND_MAX = 5;

/** Of everybody's, what an id or a ref fits. */
export const tasksLikeQuery = (name: string) => someTasksQuery({ user: "*", q: name, limit: FOUND_MAX });

/** A name that is nobody's, or somebody else's: the two look alike, except to admins. */
export function NoSuchTask({ id }: { id: string }) {
  return (
    <>
      <PageHeader title="No such task" />
      <Panel flush>
        <EmptyState
          icon={<SearchX />}
          title={`You have no task ${id.slice(0, 80)}`}
          action={
            <Link to="/queue" className="font-medium text-accent hover:underline">
              Look through your tasks
            </Link>
          }
        >
          It may have been mistyped, removed when its time was up, or it belongs to somebody else.
        </EmptyState>
        {useIsAdmin() && <OfOthers id={id} />}
      </Panel>
    </>
  );
}

/** Refs count within one user's tasks, so an admin may well mean another's. */
function OfOthers({ id }: { id: string }) {
  const found = useQuery(tasksLikeQuery(id));
  if (found.data === undefined || found.data.length === 0) return null;
  return (
    <section aria-label="Tasks of others" className="border-t border-line p-4">
      <h2 className="mb-2 font-medium">Of others, these fit</h2>
      <ul className="flex flex-col gap-1.5">
        {found.data.map((task) => (
          <li key={task.id} className="flex items-center gap-3">
            <span className="w-14 text-ink-3">{task.ref}</span>
            <TaskLink task={task} className="min-w-0 flex-1 truncate hover:underline">
              {titleOf(task)}
            </TaskLink>
            <StatusBadge status={task.status} />
          </li>
        ))}
      </ul>
    </section>
  );
}

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useMe } from "~/api/queries/session";
import { titleOf } from "~/words";

interface Props {
  task: { id: string; ref: string; user_id: string; title?: string | null; input: string };
  children?: ReactNode;
  className?: string;
}

/** Refs count within one user's tasks, so another user's is named by its id and its owner. */
export function TaskLink({ task, children, className = "hover:underline" }: Props) {
  const me = useMe();
  return (
    <Link
      to="/tasks/$id"
      params={{ id: task.id }}
      search={task.user_id === me.id ? {} : { user: task.user_id }}
      className={className}
    >
      {children ?? titleOf(task)}
    </Link>
  );
}

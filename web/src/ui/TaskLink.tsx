import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { useWhoseOf } from "~/lib/owners";
import { titleOf } from "~/words";

interface Props {
  task: { id: string; ref: string; user_id: string; title?: string | null; input: string };
  children?: ReactNode;
  className?: string;
}

/** Refs count within one user's tasks, so another user's is named by its id and its owner. */
export function TaskLink({ task, children, className = "hover:underline" }: Props) {
  const whoseOf = useWhoseOf();
  return (
    <Link
      to="/tasks/$id"
      params={{ id: task.id }}
      search={{ ...whoseOf(task) }}
      className={className}
    >
      {children ?? titleOf(task)}
    </Link>
  );
}

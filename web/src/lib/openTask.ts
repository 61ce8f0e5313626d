import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";

import { type Owned, useWhoseOf } from "./owners";

/** Goes to a task's page, whosever it is. */
export function useOpenTask(): (task: Owned & { id: string }) => void {
  const navigate = useNavigate();
  const whoseOf = useWhoseOf();
  return useCallback(
    (task) => void navigate({ to: "/tasks/$id", params: { id: task.id }, search: { ...whoseOf(task) } }),
    [navigate, whoseOf],
  );
}

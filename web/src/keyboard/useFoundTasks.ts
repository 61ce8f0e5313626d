import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";

import type { Task } from "~/api/client";
import { usersQuery } from "~/api/queries/people";
import { someTasksQuery, tasksByRefQuery } from "~/api/queries/tasks";
import { useWhose } from "~/lib/whose";

const TASKS_MAX = 8;
const WORDS_MIN = 2;
const REF = /^t-\d+$/i;
const NONE: readonly Task[] = [];

interface FoundTasks {
  /** Until the answer to these words is there, what was found for those before them. */
  tasks: readonly Task[];
  isPending: boolean;
  error: unknown;
}

/** By words of the task, by its id, or by its ref, of which there is one in each user's tasks. */
export function useFoundTasks(words: string): FoundTasks {
  const asked = useDeferredValue(words);
  const { data, error } = useAnswer(asked);
  const [shown, setShown] = useState(NONE);
  if (data !== undefined && data !== shown) setShown(data);
  const isPending = asked !== words || (data === undefined && error === null);
  return { tasks: data ?? (isPending ? shown : NONE), isPending, error };
}

function useAnswer(asked: string): { data: readonly Task[] | undefined; error: unknown } {
  const whose = useWhose();
  const isRef = REF.test(asked);
  const isOfAll = whose.user === "*" && isRef;
  const isEnough = asked.length >= WORDS_MIN;
  const users = useQuery({ ...usersQuery, enabled: isOfAll });
  const userIds = (users.data ?? []).map((user) => user.id);
  const byWords = useQuery({
    ...someTasksQuery({ ...whose, q: isRef ? asked.toUpperCase() : asked, limit: TASKS_MAX }),
    enabled: isEnough && !isOfAll,
  });
  const byRef = useQuery({ ...tasksByRefQuery(asked.toUpperCase(), userIds), enabled: isOfAll && userIds.length > 0 });
  if (!isEnough) return { data: NONE, error: null };
  return isOfAll ? { data: byRef.data, error: users.error ?? byRef.error } : { data: byWords.data, error: byWords.error };
}

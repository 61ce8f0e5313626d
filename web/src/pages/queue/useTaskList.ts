import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { api, page } from "~/api/client";
import { PAGE_ROWS, type TaskFilters } from "~/api/queries/tasks";
import { useLive } from "~/live/useLive";

import { statusesOf } from "./listed";
import type { Row } from "./rows";
import { TaskList } from "./taskList";

/** The list that a query asks for, kept right by events. Another query is another list. */
export function useTaskList(query: TaskFilters, isAtRest: () => boolean) {
  const client = useQueryClient();
  const key = JSON.stringify(query);
  const list = useMemo(() => {
    const asked = JSON.parse(key) as TaskFilters;
    return new TaskList({
      statuses: statusesOf(asked.status ?? undefined),
      isAtRest,
      isBelow: asked.user === "*" ? isOlderThan : isNumberedBelow,
      fetch: (cursor) =>
        // By the client, so that a session that is over is noticed here as anywhere; kept by the list alone.
        client.fetchQuery({
          queryKey: ["tasks", "page", asked, cursor],
          meta: { live: false },
          staleTime: 0,
          gcTime: 0,
          queryFn: ({ signal }) => page(api.GET("/api/v1/tasks", { params: { query: pageOf(asked, cursor) }, signal })),
        }),
    });
    // `isAtRest` only reads what the page looks like at that moment.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [client, key]);

  useEffect(() => {
    void list.restart();
    return () => {
      list.stop();
    };
  }, [list]);
  useLive((batch) => {
    list.take(batch);
  });
  return { list, shown: useSyncExternalStore(list.subscribe, list.snapshot) };
}

function pageOf(asked: TaskFilters, cursor: string | null): TaskFilters {
  return { limit: PAGE_ROWS, ...asked, ...(cursor === null ? {} : { cursor }) };
}

/** Everybody's tasks are listed by id, which begins with the time. */
function isOlderThan(row: Row, other: Row): boolean {
  return row.id < other.id;
}

/** One user's are listed by number: the one in `T-042`. */
function isNumberedBelow(row: Row, other: Row): boolean {
  return numberOf(row) < numberOf(other);
}

function numberOf(row: Row): number {
  return Number(row.ref.slice(2));
}

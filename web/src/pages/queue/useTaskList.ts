import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";

import { api, page } from "~/api/client";
import { ME } from "~/api/keys";
import { useMe } from "~/api/queries/session";
import { PAGE_ROWS, type TaskFilters } from "~/api/queries/tasks";
import { useLive } from "~/live/useLive";

import { statusesOf } from "./listed";
import type { Row } from "./rows";
import { TaskList } from "./taskList";

interface Left {
  key: string;
  who: string;
  list: TaskList;
  top: number;
}

/** The list that was left last, for whoever comes back from one of its tasks. */
const left: { last: Left | null } = { last: null };

/** How far down the list was scrolled when it was left. */
export function topOf(list: TaskList): number {
  return left.last?.list === list ? left.last.top : 0;
}

/** The list that a query asks for, kept right by events. Another query is another list. */
export function useTaskList(query: TaskFilters, isAtRest: () => boolean, topNow: () => number) {
  const client = useQueryClient();
  const who = useMe().id;
  const key = JSON.stringify(query);
  const list = useMemo(() => {
    if (left.last?.key === key && left.last.who === who) return left.last.list;
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
  }, [client, key, who]);

  useEffect(() => {
    list.resume(isAtRest);
    return () => {
      list.stop();
      // Of whoever signed out nothing is kept.
      left.last = client.getQueryData(ME) == null ? null : { key, who, list, top: topNow() };
    };
    // The functions only read what the page looks like at that moment.
    // eslint-disable-next-line react-hooks/exhaustive-deps
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

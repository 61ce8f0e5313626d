import { type QueryKey, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";

import type { Schemas, Task } from "~/api/client";
import { taskEventsQuery, taskGraphQuery, taskQuery, taskWhyQuery } from "~/api/queries/tasks";
import type { Whose } from "~/lib/whose";
import type { Batch } from "~/live/batches";
import { topicsOf } from "~/live/topics";
import { useLive } from "~/live/useLive";

import { Pace } from "./pace";

/**
 * Events of other tasks are no news here, so each of these says itself when it is fetched anew. While nobody looks nobody
 * does, so what is left of an earlier look is shown only until the answer to this one is there.
 */
const OWN = { meta: { live: false }, staleTime: 0 } as const;
const SOFT = new Set(["task.log", "task.progress"]);

export function useTask(id: string, whose: Whose) {
  const query = taskQuery(id, whose);
  const task = useQuery({ ...query, ...OWN });
  useMissed(task.data?.id, query.queryKey);
  return task;
}

/** The answer may be from before what is told while it is on its way, when it is not yet known of which task it is. */
function useMissed(id: string | undefined, queryKey: QueryKey): void {
  const client = useQueryClient();
  const touched = useRef<Set<string> | null>(new Set());
  useLive(({ events }) => {
    for (const { event, task_id: of } of events) if (of != null && !SOFT.has(event)) touched.current?.add(of);
  });
  useEffect(() => {
    if (id === undefined) return;
    // From here on the task's own view listens.
    if (touched.current?.has(id) === true) void client.invalidateQueries({ queryKey });
    touched.current = null;
    // Its name alone: the page is a new one for another task.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [id]);
}

export function useWhy(task: Task, whose: Whose) {
  return useQuery({ ...taskWhyQuery(task.id, whose), ...OWN });
}

export function useEvents(task: Task, whose: Whose) {
  return useQuery({ ...taskEventsQuery(task.id, whose), ...OWN });
}

export function useGraph(task: Task, whose: Whose) {
  return useQuery({ ...taskGraphQuery(task.id, whose), ...OWN });
}

/** Keeps the task, its story and its reasons as the stream tells them. `asked` is what the address names it by. */
export function useTaskLive(task: Task, asked: string, whose: Whose): void {
  const client = useQueryClient();
  const keys = useMemo(
    () => ({
      task: taskQuery(asked, whose).queryKey,
      why: taskWhyQuery(task.id, whose).queryKey,
      events: taskEventsQuery(task.id, whose).queryKey,
      graph: taskGraphQuery(task.id, whose).queryKey,
    }),
    // Names, not objects: a new object of the same names is no news.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [asked, task.id, whose.user],
  );
  const paces = usePaces({
    task: () => Promise.all([client.invalidateQueries({ queryKey: keys.task }), client.invalidateQueries({ queryKey: keys.events })]),
    why: () => client.invalidateQueries({ queryKey: keys.why }),
    graph: () => client.invalidateQueries({ queryKey: keys.graph }),
  });

  useLive((batch: Batch) => {
    const own = batch.events.filter((event) => event.task_id === task.id);
    const progress = own.findLast(({ event }) => event === "task.progress");
    if (progress !== undefined) {
      const said = progress.data as unknown as Schemas["ProgressAnswer"];
      client.setQueryData(keys.task, (before) => (before === undefined ? before : { ...before, progress: said }));
    }
    if (own.some(({ event }) => !SOFT.has(event))) paces.task.want();
    // What holds it can be anybody's doing; once it has ended, only its own.
    if (topicsOf(task.completed_at == null ? batch.events : own).has("why")) paces.why.want();
    const graph = client.getQueryData(keys.graph);
    const tied = new Set(graph?.nodes.map((node) => node.id));
    const touchesGraph = batch.events.some(
      ({ event, task_id: of, to }) => event === "task.created" || (to !== null && of !== null && tied.has(of)),
    );
    if (touchesGraph && graph !== undefined) paces.graph.want();
  });
}

function usePaces<Name extends string>(asks: Record<Name, () => Promise<unknown>>): Record<Name, Pace> {
  // The queries' keys change with the address alone, and the page is a new one then.
  const paces = useMemo(() => {
    const entries = Object.entries(asks) as [Name, () => Promise<unknown>][];
    return Object.fromEntries(entries.map(([name, ask]) => [name, new Pace(ask)])) as Record<Name, Pace>;
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, []);
  useEffect(
    () => () => {
      for (const pace of Object.values<Pace>(paces)) pace.stop();
    },
    [paces],
  );
  return paces;
}

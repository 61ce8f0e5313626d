import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api, page, type Schemas, type Task } from "../client";
import { readOn } from "../readOn";
import type { paths } from "../schema.gen";

export type TaskFilters = NonNullable<paths["/api/v1/tasks"]["get"]["parameters"]["query"]>;

/** A page of a list, in rows. */
export const PAGE_ROWS = 100;

/** The first few that fit, for palettes and previews. */
export const someTasksQuery = (filters: TaskFilters) =>
  queryOptions({
    queryKey: ["tasks", "some", filters],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tasks", { params: { query: filters }, signal })),
  });

const OWNERS_MAX = 24;

/** Refs count within one user's tasks: for an admin who looks at everybody, each user is asked for theirs. */
export const tasksByRefQuery = (ref: string, userIds: readonly string[]) =>
  queryOptions({
    queryKey: ["tasks", "by-ref", ref, userIds],
    queryFn: async ({ signal }) => {
      const asked = userIds
        .slice(0, OWNERS_MAX)
        .map((user) => answer(api.GET("/api/v1/tasks", { params: { query: { user, q: ref, limit: 2 } }, signal })));
      return (await Promise.all(asked)).flat().filter((task) => task.ref === ref);
    },
  });

/** How many there are of each status. */
export const countsQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "counts", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tasks/counts", { params: { query: whose }, signal })),
  });

export const taskQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "one", id, whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tasks/{id}", { params: { path: { id }, query: whose }, signal })),
  });

export const taskWhyQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["why", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tasks/{id}/why", { params: { path: { id }, query: whose }, signal })),
  });

export const taskEventsQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "events", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tasks/{id}/events", { params: { path: { id }, query: whose }, signal })),
  });

/** Of one attempt; of all of them without a number. */
export const taskLogQuery = (id: string, whose: Whose, attempt: number | undefined) => {
  const queryKey = ["log", id, whose, attempt];
  return queryOptions({
    queryKey,
    queryFn: ({ signal, client }) =>
      readOn(client.getQueryData<Schemas["LogAnswer"][]>(queryKey) ?? [], (cursor) =>
        page(api.GET("/api/v1/tasks/{id}/log", { params: { path: { id }, query: { ...whose, attempt, ...cursor } }, signal })),
      ),
    // Megabytes at times: comparing them with what was there costs more than showing them.
    structuralSharing: false,
  });
};

/** What it is tied to by dependencies and as a part of another. */
export const taskGraphQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "graph", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tasks/{id}/graph", { params: { path: { id }, query: whose }, signal })),
  });

export type Action = Schemas["BulkAct"]["action"];

/** What an action would do to a task as it stands, or why it cannot be done. */
export const foreseenQuery = (task: Task, action: Action, whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "foreseen", task.id, action, task.status],
    queryFn: ({ signal }) =>
      answer(
        api.POST("/api/v1/tasks/bulk", {
          params: { query: whose },
          body: { action, ids: [task.id], preview: true, ...(action === "reprioritise" ? { priority: task.priority } : {}) },
          signal,
        }),
      ),
    // It depends on where the task stands, which is part of the key.
    meta: { live: false },
  });

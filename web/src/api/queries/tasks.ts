import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api, page } from "../client";
import type { paths } from "../schema.gen";

export type TaskFilters = NonNullable<paths["/api/v1/tasks"]["get"]["parameters"]["query"]>;

export const PAGE_ROWS = 100;

/** One's tasks, newest first, a page at a time. */
export const tasksQuery = (filters: TaskFilters) =>
  infiniteQueryOptions({
    queryKey: ["tasks", "list", filters],
    queryFn: ({ signal, pageParam }) =>
      page(
        api.GET("/api/v1/tasks", {
          params: { query: { limit: PAGE_ROWS, ...filters, ...(pageParam === null ? {} : { cursor: pageParam }) } },
          signal,
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.cursor,
  });

/** The first few that fit, for palettes and previews. */
export const someTasksQuery = (filters: TaskFilters) =>
  queryOptions({
    queryKey: ["tasks", "some", filters],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/tasks", { params: { query: filters }, signal })),
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

export const taskLogQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["log", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/tasks/{id}/log", { params: { path: { id }, query: whose }, signal })),
  });

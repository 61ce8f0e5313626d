import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api } from "../client";

export const schedulesQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["schedules", "list", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/schedules", { params: { query: whose }, signal })),
  });

/** Times that many schedules go by. */
export const presetsQuery = queryOptions({
  queryKey: ["schedules", "presets"],
  staleTime: Infinity,
  meta: { live: false },
  queryFn: ({ signal }) => answer(api.GET("/api/v1/schedules/presets", { signal })),
});

export type GoesBy = { cron: string } | { every: string };

/** When one would run that is not written down yet; what is wrong with it is thrown. */
export const previewQuery = (goesBy: GoesBy, timezone: string) =>
  queryOptions({
    queryKey: ["schedules", "preview", goesBy, timezone],
    staleTime: 0,
    meta: { live: false },
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/schedules/preview", { params: { query: { ...goesBy, timezone } }, signal })),
  });

/** When one is due next, also while it is off. */
export const nextRunsQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["schedules", "next", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/schedules/{id}/next", { params: { path: { id }, query: whose }, signal })),
  });

/** What became of its last runs, the newest first. */
export const runsQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["schedules", "runs", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/schedules/{id}/runs", { params: { path: { id }, query: whose }, signal })),
  });

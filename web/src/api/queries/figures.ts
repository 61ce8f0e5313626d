import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api, type Schemas } from "../client";
import type { paths } from "../schema.gen";

type HistoryParameters = NonNullable<paths["/api/v1/metrics/history"]["get"]["parameters"]["query"]>;

/** Admins only: the whole hub's. */
export const metricsQuery = queryOptions({
  queryKey: ["figures", "metrics"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/metrics", { signal })),
});

export type Range = NonNullable<HistoryParameters["range"]>;

export type History = Schemas["HistoryAnswer"] & { range: Range };

/** Admins only: how the hub did, step by step. */
export const historyQuery = (range: Range) =>
  queryOptions({
    queryKey: ["history", range],
    queryFn: async ({ signal }): Promise<History> => ({
      range,
      ...(await answer(api.GET("/api/v1/metrics/history", { params: { query: { range } }, signal }))),
    }),
  });

export const backpressureQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["figures", "backpressure", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/backpressure", { params: { query: whose }, signal })),
  });

export const limitsQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["limits", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/users/me/limits", { params: { query: whose }, signal })),
  });

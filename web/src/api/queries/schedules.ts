import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api } from "../client";

export const schedulesQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["schedules", "list", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/schedules", { params: { query: whose }, signal })),
  });

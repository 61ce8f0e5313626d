import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api } from "../client";

/** What people decided about a dead letter, newest first. */
export const reviewsQuery = (id: string, whose: Whose) =>
  queryOptions({
    queryKey: ["dead-letters", "reviews", id, whose],
    queryFn: ({ signal }) =>
      answer(api.GET("/api/v1/dead-letters/{id}/reviews", { params: { path: { id }, query: whose }, signal })),
  });

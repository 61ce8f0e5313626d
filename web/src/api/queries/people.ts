/** What admins see: users, plans, keys, who did what. */

import { queryOptions } from "@tanstack/react-query";

import { answer, api } from "../client";

export const usersQuery = queryOptions({
  queryKey: ["people", "users"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/users", { signal })),
});

export const plansQuery = queryOptions({
  queryKey: ["people", "plans"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/plans", { signal })),
});

export const keysQuery = (userId: string) =>
  queryOptions({
    queryKey: ["people", "keys", userId],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/users/{id}/keys", { params: { path: { id: userId } }, signal })),
  });

export const auditQuery = queryOptions({
  queryKey: ["audit"],
  queryFn: ({ signal }) => answer(api.GET("/api/v1/audit", { params: { query: { limit: 200 } }, signal })),
});

/** What the yard is made of: daemons, queues, breakers, and what waits for a person. */

import { queryOptions } from "@tanstack/react-query";

import type { Whose } from "~/lib/whose";

import { answer, api } from "../client";

export const daemonsQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["daemons", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/daemons", { params: { query: whose }, signal })),
  });

export const queuesQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["queues", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/queues", { params: { query: whose }, signal })),
  });

export const breakersQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["breakers", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/breakers", { params: { query: whose }, signal })),
  });

export const deadLettersQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["dead-letters", "list", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/dead-letters", { params: { query: whose }, signal })),
  });

/** How many of one's tasks run and wait, and what holds most of them back. */
export const overviewQuery = (whose: Whose) =>
  queryOptions({
    queryKey: ["why", "overview", whose],
    queryFn: ({ signal }) => answer(api.GET("/api/v1/why", { params: { query: whose }, signal })),
  });

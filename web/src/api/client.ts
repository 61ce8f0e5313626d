/** The one door to the hub's HTTP interface: typed by its document, refused in one way. */

import createClient from "openapi-fetch";

import { problemOf, unreachable } from "./problem";
import type { components, paths } from "./schema.gen";

export type Schemas = components["schemas"];
export type Task = Schemas["TaskAnswer"];
export type Status = Schemas["Status"];
export type Level = Schemas["Level"];
export type Daemon = Schemas["DaemonAnswer"];
export type Queue = Schemas["QueueAnswer"];
export type Breaker = Schemas["BreakerAnswer"];
export type Schedule = Schemas["ScheduleAnswer"];
export type Me = Schemas["MeAnswer"];
export type User = Schemas["UserAnswer"];
export type Scope = Schemas["Scope"];

/** The header that no form of another site can set; the gateway asks for it beside the cookie. */
const REQUEST_HEADER = "X-Taskyard-Request";
const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? "" });

api.use({
  onRequest({ request }) {
    if (!SAFE.has(request.method)) request.headers.set(REQUEST_HEADER, "1");
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await problemOf(response);
  },
  onError({ error }) {
    // Somebody left the page while it was asked: not the hub's fault, and nobody is there to be told.
    if (error instanceof DOMException && error.name === "AbortError") return;
    return unreachable();
  },
});

interface Answered<T> {
  data?: T;
  response: Response;
}

/** What the hub answered. Throws `Problem`. */
export async function answer<T>(asked: Promise<Answered<T>>): Promise<T> {
  const { data } = await asked;
  return data as T;
}

export interface Page<T> {
  rows: T[];
  /** Where the next page begins; null at the end. */
  cursor: string | null;
}

/** One page of a list, and where the next one begins. Throws `Problem`. */
export async function page<T>(asked: Promise<Answered<T[]>>): Promise<Page<T>> {
  const { data, response } = await asked;
  return { rows: data ?? [], cursor: cursorOf(response.headers.get("Link")) };
}

/** The cursor in `Link: <…?cursor=…>; rel="next"`. */
export function cursorOf(link: string | null): string | null {
  const address = /<([^>]+)>;\s*rel="next"/.exec(link ?? "")?.[1];
  if (address === undefined) return null;
  return new URL(address, "http://yard").searchParams.get("cursor");
}

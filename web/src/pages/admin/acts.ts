import type { QueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "~/api/client";

/** In place of a plan's name where there is none. */
export const NO_PLAN = "";

/** No event tells of it, so what is shown of people is fetched anew. */
export async function changeUser(client: QueryClient, id: string, change: Schemas["UserChange"]): Promise<void> {
  await answer(api.PATCH("/api/v1/users/{id}", { params: { path: { id } }, body: change }));
  await refresh(client);
}

export async function refresh(client: QueryClient): Promise<void> {
  await Promise.all(["people", "limits", "audit"].map((topic) => client.invalidateQueries({ queryKey: [topic] })));
}

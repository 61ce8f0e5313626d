/** What a person can do with a task, as requests. The owner is named: an admin acts on others' tasks too. */

import { answer, api, type Schemas, type Task } from "~/api/client";
import type { Whose } from "~/lib/whose";

const of = ({ id }: Task) => ({ path: { id } });

export function retry(task: Task, whose: Whose) {
  return answer(api.POST("/api/v1/tasks/{id}/retry", { params: { ...of(task), query: whose } }));
}

export function cancel(task: Task, whose: Whose, reason: string) {
  return answer(api.DELETE("/api/v1/tasks/{id}", { params: { ...of(task), query: { ...whose, ...because(reason) } } }));
}

export function skip(task: Task, whose: Whose, reason: string) {
  return answer(api.POST("/api/v1/tasks/{id}/skip", { params: { ...of(task), query: { ...whose, ...because(reason) } } }));
}

export function change(task: Task, whose: Whose, body: Schemas["Change"]) {
  return answer(api.PATCH("/api/v1/tasks/{id}", { params: { ...of(task), query: whose }, body }));
}

function because(reason: string): { reason?: string } {
  return reason === "" ? {} : { reason };
}

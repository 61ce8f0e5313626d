import { answer, api, type Breaker } from "~/api/client";
import { toast, toastProblem } from "~/ui/Toasts";

interface Named {
  type: string;
  user_id: string;
}

export function open({ type, user_id }: Named) {
  return answer(api.POST("/api/v1/breakers/{id}/open", { params: { path: { id: type }, query: { user: user_id } } }));
}

export function close({ type, user_id }: Named) {
  return answer(api.POST("/api/v1/breakers/{id}/reset", { params: { path: { id: type }, query: { user: user_id } } }));
}

/** Tasks may start at once, so what can be taken back is the holding, not their starts. */
export function closeAndSay(breaker: Breaker): void {
  close(breaker).then(() => {
    toast(`Tasks of the type ${breaker.type} start again.`, { undo: () => open(breaker) });
  }, toastProblem);
}

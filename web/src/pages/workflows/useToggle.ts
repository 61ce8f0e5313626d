import { useMutation } from "@tanstack/react-query";

import type { Schedule } from "~/api/client";
import { toastProblem } from "~/ui/Toasts";

import type { Acts } from "./acts";

/** On or off, as it will be while the hub is told. */
export function useToggle(schedule: Schedule, acts: Acts) {
  const turning = useMutation({ mutationFn: (on: boolean) => acts.toggle(schedule, on), onError: toastProblem });
  return {
    on: turning.isPending ? turning.variables : schedule.enabled,
    isBusy: turning.isPending,
    set: turning.mutate,
  };
}

/** What a person does to a schedule. No event tells of it, so whatever is shown of schedules is fetched anew. */

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";

import { answer, api, type Schedule, type Schemas, type Task } from "~/api/client";
import { useWhoseOf } from "~/lib/owners";
import { useWhoseOwn, type Whose } from "~/lib/whose";
import { toast } from "~/ui/Toasts";

export interface Acts {
  /** Whose schedule it is, as requests name it. */
  whoseOf: (schedule: Schedule) => Whose;
  add: (body: Schemas["NewSchedule"]) => Promise<Schedule>;
  change: (schedule: Schedule, body: Schemas["ScheduleChange"]) => Promise<Schedule>;
  toggle: (schedule: Schedule, enabled: boolean) => Promise<void>;
  run: (schedule: Schedule) => Promise<Task>;
  remove: (schedule: Schedule) => Promise<void>;
}

export function useActs(): Acts {
  const client = useQueryClient();
  const whoseOf = useWhoseOf();
  const { user } = useWhoseOwn();
  return useMemo(() => actsOf(client, whoseOf, user === undefined ? {} : { user }), [client, whoseOf, user]);
}

function actsOf(client: QueryClient, whoseOf: Acts["whoseOf"], own: Whose): Acts {
  const params = (schedule: Schedule) => ({ path: { id: schedule.id }, query: whoseOf(schedule) });
  const fresh = () => client.invalidateQueries({ queryKey: ["schedules"] });

  async function change(schedule: Schedule, body: Schemas["ScheduleChange"]): Promise<Schedule> {
    const changed = await answer(api.PATCH("/api/v1/schedules/{id}", { params: params(schedule), body }));
    await fresh();
    return changed;
  }

  return {
    whoseOf,
    change,
    add: async (body) => {
      const made = await answer(api.POST("/api/v1/schedules", { params: { query: own }, body }));
      await fresh();
      return made;
    },
    toggle: async (schedule, enabled) => {
      await change(schedule, { enabled });
      toast(`${schedule.name} is ${enabled ? "on" : "off"}.`, { undo: () => change(schedule, { enabled: !enabled }) });
    },
    run: async (schedule) => {
      const task = await answer(api.POST("/api/v1/schedules/{id}/run", { params: params(schedule) }));
      toast(`${schedule.name} runs now, as ${task.ref}.`);
      await fresh();
      return task;
    },
    remove: async (schedule) => {
      await answer(api.DELETE("/api/v1/schedules/{id}", { params: params(schedule) }));
      toast(`${schedule.name} was deleted.`);
      // Gone from the list first: what is beside it would be asked for once more, and not be there.
      const list = { queryKey: ["schedules", "list"] };
      client.setQueriesData<Schedule[]>(list, (rows) => rows?.filter((one) => one.id !== schedule.id));
      await client.invalidateQueries(list);
    },
  };
}

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ScrollText } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import type { Task } from "~/api/client";
import { taskLogQuery } from "~/api/queries/tasks";
import { count } from "~/lib/format";
import type { Whose } from "~/lib/whose";
import { useLive } from "~/live/useLive";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { Select } from "~/ui/Select";

import { Pace } from "../pace";
import { ATTEMPT } from "../said";
import { linesOf } from "./lines";
import { LogView } from "./LogView";

interface Props {
  task: Task;
  whose: Whose;
}

/** What an attempt wrote, as it writes it. */
export function LogPanel({ task, whose }: Props) {
  const attempts = task.attempts ?? [];
  const newest = attempts.at(-1)?.number;
  const [chosen, setChosen] = useState<number | null>(null);
  const attempt = chosen ?? newest;
  const log = useLog(task, whose, attempt);
  if (attempt === undefined) {
    return (
      <EmptyState icon={<ScrollText />} title="Nothing was written yet">
        The log begins with the first attempt.
      </EmptyState>
    );
  }
  const isOver = attempt !== newest || task.completed_at != null || task.status !== "running";
  const chooser = attempts.length > 1 && (
    <Select
      label="Attempt"
      hideLabel
      className="w-auto"
      value={String(attempt)}
      onChange={(number) => {
        setChosen(Number(number) === newest ? null : Number(number));
      }}
      options={attempts.map((one) => ({
        value: String(one.number),
        label: `Attempt ${String(one.number)}: ${ATTEMPT[one.status].label.toLowerCase()}`,
      }))}
    />
  );
  return (
    <Loaded query={log}>
      {({ lines, leftOut }) => (
        <LogView
          key={attempt}
          lines={lines}
          isOver={isOver}
          chooser={chooser}
          before={
            leftOut > 0 &&
            `${count(leftOut)} earlier lines are left out here; taskyard log ${task.ref} --attempt ${String(attempt)} prints them all.`
          }
        />
      )}
    </Loaded>
  );
}

/** An event only says that there is more, and leaves out what came too fast; the log itself is whole, so it is read on. */
function useLog(task: Task, whose: Whose, attempt: number | undefined) {
  const client = useQueryClient();
  const query = taskLogQuery(task.id, whose, attempt);
  const asked = useRef(query.queryKey);
  const pace = useRef<Pace>(null);
  useEffect(() => {
    asked.current = query.queryKey;
  });
  useEffect(() => {
    pace.current = new Pace(() => client.invalidateQueries({ queryKey: asked.current }));
    return () => {
      pace.current?.stop();
    };
  }, [client]);
  useLive(({ events }) => {
    if (events.some((event) => event.task_id === task.id && event.event !== "task.progress")) pace.current?.want();
  });
  // Nobody listens while it is out of sight, so whoever turns to it again has it read on.
  return useQuery({ ...query, enabled: attempt !== undefined, select: linesOf, staleTime: 0 });
}

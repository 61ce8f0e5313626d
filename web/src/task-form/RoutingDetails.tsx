import type { Whose } from "~/lib/whose";

import type { Faults } from "./faults";
import { ROUTING_PATHS, type TaskDraft } from "./taskDraft";
import { RoutingFields } from "./TaskFields";

interface Props {
  draft: TaskDraft;
  onChange: (change: Partial<TaskDraft>) => void;
  faults: Faults;
  whose: Whose;
}

/** What most tasks do without, folded away; open as soon as something in it is wrong. */
export function RoutingDetails(props: Props) {
  const isWrong = ROUTING_PATHS.some((path) => props.faults.of(path, "") !== undefined);
  return (
    <details open={isWrong || undefined}>
      <summary className="w-fit font-medium text-ink-2 hover:text-ink">Queue, model, daemon and attempts</summary>
      <div className="mt-3 flex flex-col gap-4">
        <RoutingFields {...props} />
      </div>
    </details>
  );
}

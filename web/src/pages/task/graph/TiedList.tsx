import type { Task } from "~/api/client";
import { StatusBadge } from "~/ui/StatusBadge";
import { TaskLink } from "~/ui/TaskLink";
import { titleOf } from "~/words";

import type { GraphData } from "./layout";
import { tiesOf } from "./ties";

/** The graph as lists, each named by what ties it. */
export function TiedList({ task, data }: { task: Task; data: GraphData }) {
  return tiesOf(task.id, data).map(({ name, nodes }) => (
    <section key={name} aria-label={name} className="border-b border-line last:border-b-0">
      <h3 className="px-4 pt-3 pb-1 text-xs font-medium text-ink-3">{name}</h3>
      <ul className="pb-2">
        {nodes.map((node) => (
          <li key={node.id}>
            <TaskLink
              task={{ ...node, user_id: task.user_id, input: "" }}
              className="flex items-center gap-3 px-4 py-1.5 -outline-offset-2 hover:bg-page"
            >
              <span className="w-14 shrink-0 text-ink-3">{node.ref}</span>
              <span className="min-w-0 flex-1 truncate">{titleOf({ ...node, input: "" })}</span>
              <StatusBadge status={node.status} />
            </TaskLink>
          </li>
        ))}
      </ul>
    </section>
  ));
}

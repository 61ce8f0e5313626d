import { Link } from "@tanstack/react-router";

import type { Held } from "~/api/queries/yard";
import { counted } from "~/lib/format";
import { EmptyState } from "~/ui/EmptyState";
import { Panel } from "~/ui/Panel";
import { Sentence } from "~/ui/Sentence";

const SHOWN_MAX = 6;

/** Why tasks wait, in the hub's words, what holds most of them first. */
export function HeldPanel({ held }: { held: readonly Held[] }) {
  return (
    <Panel title="What tasks wait for" flush>
      {held.length === 0 ? (
        <EmptyState title="Nothing waits" />
      ) : (
        <ul className="divide-y divide-line">
          {held.slice(0, SHOWN_MAX).map((one, index) => (
            <li key={index} className="flex items-start gap-3 px-4 py-2.5">
              <div className="min-w-0 flex-1">
                <p>
                  {one.user !== undefined && <span className="font-medium">{one.user.name}: </span>}
                  <Sentence text={one.message} />
                </p>
                {one.would_help != null && (
                  <p className="text-ink-2">
                    <Sentence text={one.would_help} />
                  </p>
                )}
              </div>
              <Link
                to="/tasks/$id"
                params={{ id: one.example }}
                search={one.user === undefined ? {} : { user: one.user.id }}
                className="shrink-0 text-accent hover:underline"
                title={`For example ${one.example}`}
              >
                {counted(one.tasks, "task")}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

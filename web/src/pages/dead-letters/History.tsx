import { useInfiniteQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { auditQuery } from "~/api/queries/people";
import { CopyId } from "~/ui/CopyId";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";

import { type Verdict, VERDICT } from "./verdicts";

type Audited = Schemas["AuditAnswer"];

const PREFIX = "dead_letter.";
const SHOWN_MAX = 12;
/** So much of an id as tells it from the others around it. */
const TAIL = 6;

function verdictOf({ action }: Audited): string {
  const word = action.slice(PREFIX.length);
  return word in VERDICT ? VERDICT[word as Verdict].label : word;
}

/** Of whom no name is known, the end of their key tells them apart. */
function whoOf(actor: string): string {
  const [kind, id = ""] = actor.split(":", 2);
  return id === "" ? actor : `${kind ?? ""} …${id.slice(-TAIL)}`;
}

/** "Escalate · to the CRM team: their token expired · by ada · 3 min ago" */
export function VerdictLine({ record }: { record: Audited }) {
  return (
    <span className="flex flex-wrap items-baseline gap-x-2">
      <span className="font-medium">{verdictOf(record)}</span>
      {typeof record.new === "string" && record.new !== "" && <span className="text-ink-2">{record.new}</span>}
      <span className="text-xs text-ink-3">
        by {record.by ?? whoOf(record.actor)}, <RelativeTime at={record.at} />
      </span>
    </span>
  );
}

/** For admins: what was decided lately, also about tasks that are no dead letters any more. */
export function RecentVerdicts() {
  const audit = useInfiniteQuery(auditQuery);
  const rows = (audit.data?.pages ?? []).flatMap((page) => page.rows);
  const found = rows.filter((one) => one.action.startsWith(PREFIX));
  if (found.length === 0) return null;
  return (
    <Panel title="Decided lately" className="mt-6">
      <ul className="flex flex-col gap-2">
        {found.slice(0, SHOWN_MAX).map((one, index) => (
          <li key={index} className="flex flex-wrap items-baseline justify-between gap-x-4">
            <VerdictLine record={one} />
            <CopyId value={one.subject} label="the task's id" shown={`…${one.subject.slice(-TAIL)}`} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

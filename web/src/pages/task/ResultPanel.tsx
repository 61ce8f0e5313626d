import { PackageOpen } from "lucide-react";

import type { Schemas, Task } from "~/api/client";
import { counted } from "~/lib/format";
import { Badge } from "~/ui/Badge";
import { CopyId } from "~/ui/CopyId";
import { EmptyState } from "~/ui/EmptyState";
import { JsonView } from "~/ui/JsonView";
import type { Tone } from "~/words";

import { isFilled, Titled } from "./Titled";
import { usageOf, usageWords } from "./usage";

const RESULT: Record<Schemas["ResultStatus"], { label: string; tone: Tone }> = {
  success: { label: "Success", tone: "well" },
  partial: { label: "In part", tone: "attention" },
  failed: { label: "Failed", tone: "failed" },
};
const FILES_MAX = 200;

/** Everything that came back. */
export function ResultPanel({ task }: { task: Task }) {
  const used = usageWords(usageOf(task.attempts ?? []));
  const late = (task.attempts ?? []).filter((attempt) => attempt.late_result != null);
  const files = task.files_changed ?? [];
  const hasResult = task.status === "completed" || isFilled(task.result);
  if (!hasResult && used === null && late.length === 0 && files.length === 0) {
    return (
      <EmptyState icon={<PackageOpen />} title="No result yet">
        What the task brings is shown here once it has completed.
      </EmptyState>
    );
  }
  return (
    <div className="flex flex-col gap-5 p-4">
      {hasResult && <Outcome task={task} />}
      {used !== null && (
        <Titled title="Used of models" note="by all attempts together">
          <p>{used}</p>
        </Titled>
      )}
      {files.length > 0 && (
        <Titled title="Files changed" note={counted(files.length, "file")}>
          <ul className="max-h-72 overflow-auto rounded-md border border-line bg-sunken p-2">
            {files.slice(0, FILES_MAX).map((file) => (
              <li key={file}>
                <CopyId value={file} label="the path" />
              </li>
            ))}
          </ul>
          {files.length > FILES_MAX && <p className="text-ink-3">{`and ${String(files.length - FILES_MAX)} more`}</p>}
        </Titled>
      )}
      {isFilled(task.decision_report) && (
        <Titled title="Decision report">
          <JsonView label="Decision report" value={task.decision_report} />
        </Titled>
      )}
      {late.map((attempt) => (
        <Titled
          key={attempt.number}
          title={`Late result of attempt ${String(attempt.number)}`}
          note="it came when the attempt no longer counted; kept, and not the task's result"
        >
          <JsonView label={`Late result of attempt ${String(attempt.number)}`} value={attempt.late_result} />
        </Titled>
      ))}
    </div>
  );
}

function Outcome({ task }: { task: Task }) {
  const said = task.result_status == null ? null : RESULT[task.result_status];
  return (
    <Titled title="Result" note={said !== null && <Badge tone={said.tone}>{said.label}</Badge>}>
      {task.result_summary != null && task.result_summary !== "" && task.result_summary !== task.result && (
        <p className="whitespace-pre-wrap">{task.result_summary}</p>
      )}
      {isFilled(task.result) ? (
        <JsonView label="Result" value={task.result} />
      ) : (
        <p className="text-ink-2">It completed without anything to show.</p>
      )}
    </Titled>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Task } from "~/api/client";
import { deadLettersQuery } from "~/api/queries/yard";
import { counted } from "~/lib/format";
import type { Whose } from "~/lib/whose";
import { ErrorDetails } from "~/ui/ErrorDetails";
import { Panel } from "~/ui/Panel";
import { RelativeTime } from "~/ui/RelativeTime";

/** So many of the newest dead letters are looked through for this one and its pattern. */
const LOOKED_AT = 100;

const KIND = new Map<boolean | null, string>([
  [true, "It may pass: worth another try."],
  [false, "It will not pass by itself: another try would end the same way."],
]);

/** What went wrong last, and who else it went wrong for. */
export function ErrorPanel({ task, whose }: { task: Task; whose: Whose }) {
  const { error } = task;
  if (error == null) return null;
  const kind = KIND.get(error.retryable);
  return (
    <Panel title="What went wrong" aside={<span className="font-mono text-xs text-failed">{error.code}</span>}>
      <div className="flex flex-col gap-3">
        <p className="max-h-60 overflow-auto text-base break-words whitespace-pre-wrap">{error.message}</p>
        {kind !== undefined && <p className="text-ink-2">{kind}</p>}
        {task.status === "permanently_failed" && (
          <>
            <Pattern task={task} whose={whose} />
            <p className="text-ink-2">No attempt is left. Retry it once the cause is gone; until then it is a dead letter.</p>
          </>
        )}
        <ErrorDetails details={error.details} />
      </div>
    </Panel>
  );
}

function Pattern({ task, whose }: { task: Task; whose: Whose }) {
  const letters = useQuery(deadLettersQuery({ ...whose, limit: LOOKED_AT }));
  const pattern = letters.data?.find((one) => one.id === task.id)?.pattern;
  if (pattern === undefined) return null;
  const others = pattern.same_error - 1;
  if (others === 0) return <p className="text-ink-2">No other dead letter has this error.</p>;
  return (
    <p className="text-ink-2">
      <Link
        to="/dead-letters"
        search={{ pattern: pattern.fingerprint }}
        className="font-medium text-accent underline decoration-1 underline-offset-2"
      >
        {counted(others, "other dead letter")} with the same error
      </Link>
      {pattern.same_daemon !== null && `, all on ${pattern.same_daemon}`}
      {", the first "}
      <RelativeTime at={pattern.first_at} />
      {", the last "}
      <RelativeTime at={pattern.last_at} />.
    </p>
  );
}

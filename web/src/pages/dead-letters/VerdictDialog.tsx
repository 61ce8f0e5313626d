import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { deadLettersQuery } from "~/api/queries/yard";
import { counted } from "~/lib/format";
import { foresee } from "~/lib/taskActions";
import type { Whose } from "~/lib/whose";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { ErrorState } from "~/ui/ErrorState";
import { Field } from "~/ui/Field";
import { Select } from "~/ui/Select";
import { Skeleton } from "~/ui/Skeleton";
import { toast } from "~/ui/Toasts";

import { DELAYS, review, reviewed, REVIEWED_MAX, type Verdict, VERDICT } from "./verdicts";

export interface Meant {
  verdict: Verdict;
  /** Some tasks, or all of a pattern. */
  ids?: string[];
  fingerprint?: string;
  /** What it is about, where it is one thing. */
  about?: string | undefined;
}

interface Props {
  meant: Meant | null;
  whose: Whose;
  onClose: () => void;
  onDone: () => void;
}

export function VerdictDialog({ meant, ...rest }: Props) {
  return meant === null ? null : <Asking meant={meant} {...rest} />;
}

function Asking({ meant, whose, onClose, onDone }: Props & { meant: Meant }) {
  const { verdict, about } = meant;
  const word = VERDICT[verdict];
  const [delayMs, setDelayMs] = useState<number>(DELAYS[1].ms);
  const [to, setTo] = useState("");
  const { ids, error, retry } = useIds(meant, whose);
  const name = ids === undefined ? word.label : word.about(counted(ids.length, "task"));

  async function decide(reason: string) {
    const until = verdict === "wait" ? { until: new Date(Date.now() + delayMs).toISOString() } : {};
    const told = await review(
      ids ?? [],
      { verdict, reason, ...until, ...(verdict === "escalate" ? { to: to.trim() } : {}) },
      whose,
    );
    toast(reviewed(verdict, told));
    onDone();
  }

  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={name}
      action={name}
      look={verdict === "discard" ? "danger" : "primary"}
      reason="required"
      disabled={ids === undefined || ids.length === 0 || (verdict === "escalate" && to.trim() === "")}
      onConfirm={decide}
    >
      {about !== undefined && <p className="line-clamp-3 font-medium">{about}</p>}
      <p className="text-ink-2">{word.means}</p>
      {error !== null && <ErrorState error={error} onRetry={retry} />}
      {ids === undefined && error === null && <Skeleton className="h-5 w-2/3" />}
      {ids !== undefined && ids.length >= REVIEWED_MAX && (
        <p className="text-attention">These are the newest {REVIEWED_MAX}: as many as one step takes.</p>
      )}
      {verdict === "discard" && ids !== undefined && ids.length > 0 && <Heirs ids={ids} whose={whose} />}
      {verdict === "wait" && (
        <Select
          label="When"
          value={String(delayMs)}
          onChange={(value) => {
            setDelayMs(Number(value));
          }}
          options={DELAYS.map(({ label, ms }) => ({ value: String(ms), label }))}
        />
      )}
      {verdict === "escalate" && (
        <Field
          label="To whom"
          placeholder="A person or a team"
          value={to}
          onChange={(event) => {
            setTo(event.target.value);
          }}
        />
      )}
    </ConfirmDialog>
  );
}

/** Which tasks are meant; of a pattern they are looked up at this moment. */
function useIds(meant: Meant, whose: Whose) {
  const letters = useQuery({
    ...deadLettersQuery({ ...whose, limit: REVIEWED_MAX, ...(meant.fingerprint === undefined ? {} : { fingerprint: meant.fingerprint }) }),
    enabled: meant.ids === undefined,
    staleTime: 0,
  });
  const retry = () => void letters.refetch();
  if (meant.ids !== undefined) return { ids: meant.ids, error: null, retry };
  return { ids: letters.data?.map((task) => task.id), error: letters.error, retry };
}

/** What else goes with them. */
function Heirs({ ids, whose }: { ids: string[]; whose: Whose }) {
  const foreseen = useQuery({
    queryKey: ["foreseen", whose, "discard", ids],
    queryFn: () => foresee({ action: "cancel", ids }, whose),
    staleTime: 0,
    gcTime: 0,
  });
  if (foreseen.isPending) return <Skeleton className="h-5 w-2/3" />;
  const also = foreseen.data?.counts.also ?? 0;
  if (also === 0) return <p className="text-ink-2">No other task depends on them.</p>;
  return (
    <p className="font-medium text-attention">
      {counted(also, "more task", "more tasks")} {also === 1 ? "depends" : "depend"} on them and {also === 1 ? "is" : "are"} cancelled too.
    </p>
  );
}

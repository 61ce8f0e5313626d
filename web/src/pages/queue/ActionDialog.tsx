import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Level } from "~/api/client";
import { counted } from "~/lib/format";
import { type Action, act, type BulkAnswer, foresee } from "~/lib/taskActions";
import type { Whose } from "~/lib/whose";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { ErrorState } from "~/ui/ErrorState";
import { Select } from "~/ui/Select";
import { Skeleton } from "~/ui/Skeleton";
import { LEVEL, LEVELS } from "~/words";

import type { Row } from "./rows";
import { staying, VERBS, willBe } from "./sentences";

export interface Intent {
  action: Action;
  rows: readonly Row[];
  level: Level;
}

interface Props {
  intent: Intent | null;
  whose: Whose;
  onClose: () => void;
  onDone: (intent: Intent, told: BulkAnswer) => void;
}

const REFS_MAX = 6;

/** What will happen, foreseen by the hub for just these tasks, before it does. */
export function ActionDialog({ intent, ...rest }: Props) {
  return intent === null ? null : <Asking intent={intent} {...rest} />;
}

function Asking({ intent, whose, onClose, onDone }: Props & { intent: Intent }) {
  const { action, rows } = intent;
  const [level, setLevel] = useState(intent.level);
  const ids = rows.map((row) => row.id);
  const asked = { action, ids, ...(action === "reprioritise" ? { priority: level } : {}) };
  const foreseen = useQuery({
    queryKey: ["foreseen", whose, action, ids],
    queryFn: () => foresee(asked, whose),
    staleTime: 0,
    gcTime: 0,
  });
  const ok = foreseen.data?.counts.ok ?? rows.length;
  const only = rows.length === 1 ? rows[0] : undefined;
  const what = only === undefined ? counted(rows.length, "task") : `${only.ref}`;
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`${VERBS[action]} ${what}`}
      action={action === "reprioritise" ? `Make ${counted(ok, "task")} ${LEVEL[level].label.toLowerCase()}` : `${VERBS[action]} ${counted(ok, "task")}`}
      look={action === "cancel" ? "danger" : "primary"}
      {...(action === "cancel" || action === "skip" ? { reason: "optional" as const } : {})}
      disabled={foreseen.data === undefined || ok === 0}
      onConfirm={async (reason) => {
        onDone({ ...intent, level }, await act({ ...asked, ...(reason === "" ? {} : { reason }) }, whose));
      }}
    >
      {only !== undefined && <p className="font-medium">{only.title}</p>}
      {action === "reprioritise" && (
        <Select
          label="Priority"
          value={level}
          onChange={(value) => {
            setLevel(value as Level);
          }}
          options={LEVELS.map((one) => ({ value: one, label: LEVEL[one].label }))}
        />
      )}
      {foreseen.error !== null && <ErrorState error={foreseen.error} onRetry={() => void foreseen.refetch()} />}
      {foreseen.isPending && <Skeleton className="h-5 w-3/4" />}
      {foreseen.data !== undefined && <Foreseen action={action} told={foreseen.data} />}
    </ConfirmDialog>
  );
}

function Foreseen({ action, told }: { action: Action; told: BulkAnswer }) {
  return (
    <>
      {willBe(action, told).map((sentence, index) => (
        <p key={sentence} className={index === 0 ? "font-medium" : "text-ink-2"}>
          {sentence}
        </p>
      ))}
      {staying(told).map(({ why, refs }) => (
        <p key={why} className="text-ink-2">
          <span className="font-medium text-attention">{counted(refs.length, "stays", "stay")} as before</span>, {why}:{" "}
          <span className="font-mono text-xs">{refs.slice(0, REFS_MAX).join(", ")}</span>
          {refs.length > REFS_MAX && ` and ${String(refs.length - REFS_MAX)} more`}
        </p>
      ))}
    </>
  );
}

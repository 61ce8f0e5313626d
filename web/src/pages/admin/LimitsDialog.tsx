import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas, User } from "~/api/client";
import { asProblem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";
import { Refusal } from "~/ui/Refusal";
import { toast } from "~/ui/Toasts";

import { changeUser } from "./acts";
import { LIMITS } from "./limits";

type Limit = keyof Schemas["Overrides"];

interface Props {
  user: User;
  onClose: () => void;
}

/** A user's own limits in place of the plan's. */
export function LimitsDialog({ user, onClose }: Props) {
  const client = useQueryClient();
  const before = user.overrides as Partial<Record<Limit, number>>;
  const [said, setSaid] = useState<Partial<Record<Limit, string>>>(() =>
    Object.fromEntries(LIMITS.map(({ key }) => [key, before[key]?.toString() ?? ""])),
  );
  const saving = useMutation({
    mutationFn: () => {
      const overrides = Object.fromEntries(LIMITS.map(({ key }) => [key, said[key] === "" ? null : Number(said[key])]));
      return changeUser(client, user.id, { overrides });
    },
    onSuccess: () => {
      const back = Object.fromEntries(LIMITS.map(({ key }) => [key, before[key] ?? null]));
      toast(`The limits of ${user.name} hold at once.`, { undo: () => changeUser(client, user.id, { overrides: back }) });
      onClose();
    },
  });
  const problem = saving.error === null ? null : asProblem(saving.error);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Limits of ${user.name}`}
      footer={
        <Button
          look="primary"
          busy={saving.isPending}
          onClick={() => {
            saving.mutate();
          }}
        >
          Save
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <p className="text-ink-2">What is empty is as the plan says.</p>
        {LIMITS.map(({ key, label, min }) => (
          <Field
            key={key}
            label={label}
            type="number"
            min={min}
            value={said[key] ?? ""}
            error={problem?.of(`overrides.${key}`)}
            onChange={(event) => {
              setSaid({ ...said, [key]: event.target.value });
            }}
          />
        ))}
        {problem !== null && <Refusal text={problem.message} />}
      </div>
    </Dialog>
  );
}

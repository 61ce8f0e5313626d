import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import type { Schemas, Task } from "~/api/client";
import { asProblem } from "~/api/problem";
import { instant } from "~/lib/format";
import { useZone } from "~/lib/preferences";
import type { Whose } from "~/lib/whose";
import { fromField, toField } from "~/lib/zoned";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";
import { Refusal } from "~/ui/Refusal";
import { toast } from "~/ui/Toasts";

import { change } from "./acts";

interface Props {
  task: Task;
  whose: Whose;
  onClose: () => void;
}

/** From when it may start, and until when it is of use; an empty field takes the time away. */
export function TimesDialog({ task, whose, onClose }: Props) {
  const zone = useZone();
  const [begin, end] = [task.not_before ?? null, task.deadline];
  const [start, setStart] = useState(fieldOf(begin, zone));
  const [deadline, setDeadline] = useState(fieldOf(end, zone));
  const body: Schemas["Change"] = {
    ...(start === fieldOf(begin, zone) ? {} : { scheduled_for: instantOf(start, zone) }),
    ...(deadline === fieldOf(end, zone) ? {} : { deadline: instantOf(deadline, zone) }),
  };
  const saving = useMutation({
    mutationFn: () => change(task, whose, body),
    onSuccess: () => {
      onClose();
      toast(`The times of ${task.ref} were changed.`, {
        undo: () =>
          change(task, whose, {
            ...("scheduled_for" in body ? { scheduled_for: begin } : {}),
            ...("deadline" in body ? { deadline: end } : {}),
          }),
      });
    },
  });
  const problem = saving.error === null ? null : asProblem(saving.error);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Times of ${task.ref}`}
      footer={
        <>
          <Button onClick={onClose}>Keep as it is</Button>
          <Button
            look="primary"
            busy={saving.isPending}
            disabled={Object.keys(body).length === 0}
            onClick={() => {
              saving.mutate();
            }}
          >
            Change
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <Field
          type="datetime-local"
          label="Not before"
          hint={`It starts no earlier than this (${zone}). Leave it empty to start as soon as possible.`}
          error={problem?.of("scheduled_for")}
          value={start}
          onChange={(event) => {
            setStart(event.target.value);
          }}
        />
        <Field
          type="datetime-local"
          label="Deadline"
          hint="After this time it is no longer started. Leave it empty for none."
          error={problem?.of("deadline")}
          value={deadline}
          onChange={(event) => {
            setDeadline(event.target.value);
          }}
        />
        {problem !== null && problem.errors.length === 0 && <Refusal text={problem.message} />}
      </div>
    </Dialog>
  );
}

function fieldOf(said: string | null, zone: string): string {
  const at = instant(said);
  return at === null ? "" : toField(at, zone);
}

function instantOf(field: string, zone: string): string | null {
  const at = fromField(field, zone);
  return at === null ? null : new Date(at).toISOString();
}

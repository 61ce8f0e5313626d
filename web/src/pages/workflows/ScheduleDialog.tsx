import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";

import type { Schedule, Schemas } from "~/api/client";
import { useZone } from "~/lib/preferences";
import { useWhoseOwn } from "~/lib/whose";
import { type Faults, faultsIn, faultsUnder } from "~/task-form/faults";
import { RoutingDetails } from "~/task-form/RoutingDetails";
import { TaskFields } from "~/task-form/TaskFields";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";
import { Refusal } from "~/ui/Refusal";
import { Select } from "~/ui/Select";
import { toast } from "~/ui/Toasts";

import type { Acts } from "./acts";
import { bodyOf, changeOf, draftOfSchedule, newDraft, SCHEDULE_PATHS, type ScheduleDraft } from "./scheduleDraft";
import { CATCH_UP, OVERLAP } from "./sentences";
import { TimesFields } from "./TimesFields";

interface Props {
  /** Null: a new one. */
  schedule: Schedule | null;
  acts: Acts;
  onClose: () => void;
  onSaved: (schedule: Schedule) => void;
}

export function ScheduleDialog({ schedule, acts, onClose, onSaved }: Props) {
  const zone = useZone();
  const form = useId();
  const [draft, setDraft] = useState(() => (schedule === null ? newDraft(zone) : draftOfSchedule(schedule)));
  const change = (some: Partial<ScheduleDraft>) => {
    setDraft((before) => ({ ...before, ...some }));
  };
  const body = schedule === null ? null : changeOf(schedule, draft);
  const saving = useMutation({
    mutationFn: () => (schedule === null ? acts.add(bodyOf(draft)) : acts.change(schedule, body ?? {})),
    onSuccess: (saved) => {
      toast(schedule === null ? `${saved.name} was made.` : `${saved.name} was changed.`);
      onSaved(saved);
      onClose();
    },
  });
  const faults = faultsIn(saving.error, SCHEDULE_PATHS);
  const isUnready = draft.name.trim() === "" || draft.task.input.trim() === "";
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={schedule === null ? "New schedule" : `Edit ${schedule.name}`}
      footer={
        <>
          {faults.rest !== undefined && <Refusal className="mr-auto self-center" text={faults.rest} />}
          <Button onClick={onClose}>{schedule === null ? "Discard" : "Keep as it is"}</Button>
          <Button
            type="submit"
            form={form}
            look="primary"
            busy={saving.isPending}
            disabled={isUnready || (body !== null && Object.keys(body).length === 0)}
          >
            {schedule === null ? "Make schedule" : "Save"}
          </Button>
        </>
      }
    >
      <form
        id={form}
        noValidate
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          saving.mutate();
        }}
      >
        <Field
          label="Name"
          required
          placeholder="Morning summary"
          error={faults.of("name", "The name")}
          value={draft.name}
          onChange={(event) => {
            change({ name: event.target.value });
          }}
        />
        <Part title="When">
          <TimesFields draft={draft} onChange={change} faults={faults} />
        </Part>
        <TaskPart draft={draft} onChange={change} faults={faultsUnder(faults, "task.")} />
        <Part title="When runs are missed or overlap">
          <MissedFields draft={draft} onChange={change} faults={faults} />
        </Part>
      </form>
    </Dialog>
  );
}

interface PartProps {
  draft: ScheduleDraft;
  onChange: (some: Partial<ScheduleDraft>) => void;
  faults: Faults;
}

function TaskPart({ draft, onChange, faults }: PartProps) {
  const whose = useWhoseOwn();
  const fields = {
    draft: draft.task,
    faults,
    onChange: (some: Partial<ScheduleDraft["task"]>) => {
      onChange({ task: { ...draft.task, ...some } });
    },
  };
  return (
    <Part title="The task that each run makes">
      <TaskFields {...fields} />
      <RoutingDetails {...fields} whose={whose} />
    </Part>
  );
}

function MissedFields({ draft, onChange, faults }: PartProps) {
  return (
    <>
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <Select
          label="Missed runs"
          options={Object.entries(CATCH_UP).map(([value, { label }]) => ({ value, label }))}
          hint={CATCH_UP[draft.catchUp].means}
          error={faults.of("catch_up", "This")}
          value={draft.catchUp}
          onChange={(catchUp) => {
            onChange({ catchUp: catchUp as Schemas["CatchUp"] });
          }}
        />
        <Field
          type="number"
          min={0}
          label="At most so late (minutes)"
          placeholder="However late"
          hint="A run that would come later than this is skipped."
          error={faults.of("max_lateness", "The lateness")}
          value={draft.latenessMin}
          onChange={(event) => {
            onChange({ latenessMin: event.target.value });
          }}
        />
      </div>
      <p className="text-ink-2">{OVERLAP}</p>
    </>
  );
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 border-t border-line pt-3">
      <legend className="float-left mb-1 w-full text-base font-semibold">{title}</legend>
      {children}
    </fieldset>
  );
}

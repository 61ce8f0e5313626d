import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas, type Task } from "~/api/client";
import { useOpenTask } from "~/lib/openTask";
import { useZone } from "~/lib/preferences";
import { useWhoseOwn } from "~/lib/whose";
import { fromField } from "~/lib/zoned";
import { type Faults, faultsIn } from "~/task-form/faults";
import { RoutingDetails } from "~/task-form/RoutingDetails";
import { DRAFT_PATHS, EMPTY_DRAFT, type Submission, submissionOf, type TaskDraft } from "~/task-form/taskDraft";
import { TaskFields } from "~/task-form/TaskFields";
import { Button } from "~/ui/Button";
import { Field } from "~/ui/Field";
import { Panel } from "~/ui/Panel";
import { Refusal } from "~/ui/Refusal";
import { Select } from "~/ui/Select";
import { toast } from "~/ui/Toasts";

import { DependencyField } from "./DependencyField";
import { useDraftKeys } from "./draftKey";

type Policy = Schemas["DependsPolicy"];

interface Times {
  start: string;
  deadline: string;
}

interface After {
  tasks: Task[];
  policy: Policy;
}

const PATHS = [...DRAFT_PATHS, "depends_on", "on_depends_fail", "scheduled_for", "deadline"];

const POLICIES: Record<Policy, { label: string; means: string }> = {
  block: { label: "Wait for a person", means: "It is blocked until somebody decides." },
  skip: { label: "Skip this one too", means: "It is left out, and so is what depends on it." },
  continue: { label: "Go on regardless", means: "It runs as soon as they have ended, however they ended." },
};

export function AddForm() {
  const zone = useZone();
  const whose = useWhoseOwn();
  const [draft, setDraft] = useState<TaskDraft>(EMPTY_DRAFT);
  const [times, setTimes] = useState<Times>({ start: "", deadline: "" });
  const [after, setAfter] = useState<After>({ tasks: [], policy: "block" });
  const adding = useAdding(() => bodyOf(draft, times, after, zone));
  const faults = faultsIn(adding.error, PATHS);
  const change = (some: Partial<TaskDraft>) => {
    setDraft((before) => ({ ...before, ...some }));
  };
  return (
    <form
      noValidate
      className="grid items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]"
      onSubmit={(event) => {
        event.preventDefault();
        adding.mutate();
      }}
    >
      <Panel title="The task">
        <div className="flex flex-col gap-4">
          <TaskFields draft={draft} onChange={change} faults={faults} focusFirst />
          <RoutingDetails draft={draft} onChange={change} faults={faults} whose={whose} />
        </div>
      </Panel>
      <div className="flex flex-col gap-4">
        <Panel title="When">
          <WhenFields times={times} onTimes={setTimes} after={after} onAfter={setAfter} faults={faults} zone={zone} />
        </Panel>
        <div className="flex flex-col gap-2">
          <Button
            type="submit"
            look="primary"
            className="h-9"
            busy={adding.isPending}
            disabled={draft.input.trim() === ""}
          >
            Add task
          </Button>
          {faults.rest !== undefined && <Refusal text={faults.rest} />}
        </div>
      </div>
    </form>
  );
}

/** Sent under one key until it has arrived, so that a second press or a lost answer makes no second task. */
function useAdding(body: () => Submission) {
  const keys = useDraftKeys();
  const whose = useWhoseOwn();
  const open = useOpenTask();
  return useMutation({
    mutationFn: () => {
      const sent = body();
      const header = { "Idempotency-Key": keys.of([sent, whose]) };
      return answer(api.POST("/api/v1/tasks", { params: { query: whose, header }, body: sent }));
    },
    onSuccess: (task) => {
      keys.forget();
      toast(`${task.ref} was added.`);
      open(task);
    },
  });
}

function bodyOf(draft: TaskDraft, times: Times, after: After, zone: string): Submission {
  return {
    ...submissionOf(draft),
    ...(times.start === "" ? {} : { scheduled_for: instantOf(times.start, zone) }),
    ...(times.deadline === "" ? {} : { deadline: instantOf(times.deadline, zone) }),
    ...(after.tasks.length === 0
      ? {}
      : { depends_on: after.tasks.map((task) => task.id), on_depends_fail: after.policy }),
  };
}

function instantOf(field: string, zone: string): string | null {
  const at = fromField(field, zone);
  return at === null ? null : new Date(at).toISOString();
}

interface WhenProps {
  times: Times;
  onTimes: (times: Times) => void;
  after: After;
  onAfter: (after: After) => void;
  faults: Faults;
  zone: string;
}

function WhenFields({ times, onTimes, after, onAfter, faults, zone }: WhenProps) {
  const whose = useWhoseOwn();
  return (
    <div className="flex flex-col gap-4">
      <DependencyField
        chosen={after.tasks}
        whose={whose}
        error={faults.of("depends_on", "A task")}
        onChange={(tasks) => {
          onAfter({ ...after, tasks });
        }}
      />
      {after.tasks.length > 0 && (
        <Select
          label="If one of them fails"
          options={Object.entries(POLICIES).map(([value, { label }]) => ({ value, label }))}
          hint={POLICIES[after.policy].means}
          error={faults.of("on_depends_fail", "This")}
          value={after.policy}
          onChange={(policy) => {
            onAfter({ ...after, policy: policy as Policy });
          }}
        />
      )}
      <Field
        type="datetime-local"
        label="Not before"
        hint={`In ${zone.replaceAll("_", " ")}. Leave it empty to start as soon as possible.`}
        error={faults.of("scheduled_for", "The time")}
        value={times.start}
        onChange={(event) => {
          onTimes({ ...times, start: event.target.value });
        }}
      />
      <Field
        type="datetime-local"
        label="Deadline"
        hint="After this time it is no longer started."
        error={faults.of("deadline", "The deadline")}
        value={times.deadline}
        onChange={(event) => {
          onTimes({ ...times, deadline: event.target.value });
        }}
      />
    </div>
  );
}

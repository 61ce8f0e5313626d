import { useQuery } from "@tanstack/react-query";

import { queuesQuery } from "~/api/queries/yard";
import type { Whose } from "~/lib/whose";
import { Field, TextArea } from "~/ui/Field";
import { Select } from "~/ui/Select";
import { LEVEL, LEVELS } from "~/words";

import type { Faults } from "./faults";
import { GENERAL, type TaskDraft } from "./taskDraft";

interface Props {
  draft: TaskDraft;
  onChange: (change: Partial<TaskDraft>) => void;
  faults: Faults;
}

const AUTOMATIC = { value: "", label: "Automatic" };

/** What is to be done, and how urgent it is. */
export function TaskFields({ draft, onChange, faults, focusFirst = false }: Props & { focusFirst?: boolean }) {
  const exact = /^\d+$/.test(draft.priority) ? [{ value: draft.priority, label: `Exactly ${draft.priority}` }] : [];
  return (
    <>
      <TextArea
        label="What is to be done"
        required
        rows={5}
        // Whoever opens a page to write something wants to write it.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus={focusFirst}
        error={faults.of("input", "What is to be done")}
        value={draft.input}
        onChange={(event) => {
          onChange({ input: event.target.value });
        }}
      />
      <Field
        label="Title"
        placeholder="The first line of it, if this stays empty"
        error={faults.of("title", "The title")}
        value={draft.title}
        onChange={(event) => {
          onChange({ title: event.target.value });
        }}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Type"
          placeholder={GENERAL}
          hint="Daemons choose their tasks by it."
          error={faults.of("type", "The type")}
          value={draft.type}
          onChange={(event) => {
            onChange({ type: event.target.value });
          }}
        />
        <Select
          label="Priority"
          options={[AUTOMATIC, ...LEVELS.map((level) => ({ value: level, label: LEVEL[level].label })), ...exact]}
          error={faults.of("priority", "The priority")}
          value={draft.priority}
          onChange={(priority) => {
            onChange({ priority });
          }}
        />
      </div>
    </>
  );
}

/** Which queue and daemon it goes to, and how it is tried: nothing that most tasks need. */
export function RoutingFields({ draft, onChange, faults, whose }: Props & { whose: Whose }) {
  const queues = useQuery(queuesQuery(whose)).data ?? [];
  const fitting = queues.filter((queue) => draft.queue === "" || queue.name === draft.queue);
  const models = [...new Set(fitting.flatMap((queue) => queue.models))].sort();
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <Select
          label="Queue"
          options={[{ value: "", label: "The one that fits" }, ...optionsOf(queues.map((queue) => queue.name), draft.queue)]}
          error={faults.of("queue", "The queue")}
          value={draft.queue}
          onChange={(queue) => {
            onChange({ queue });
          }}
        />
        <Select
          label="Model"
          options={[{ value: "", label: "Any" }, ...optionsOf(models, draft.model)]}
          error={faults.of("model", "The model")}
          value={draft.model}
          onChange={(model) => {
            onChange({ model });
          }}
        />
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label="Capabilities"
          placeholder="gpu, browser"
          hint="What its daemon must have, with commas between."
          error={faults.of("requirements.capabilities", "A capability")}
          value={draft.capabilities}
          onChange={(event) => {
            onChange({ capabilities: event.target.value });
          }}
        />
        <Field
          label="Only on daemon"
          hint="Its name. Leave it empty for any that can run it."
          error={faults.of("requirements.target_daemon", "The daemon")}
          value={draft.daemon}
          onChange={(event) => {
            onChange({ daemon: event.target.value });
          }}
        />
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          type="number"
          min={1}
          label="Attempts at most"
          placeholder="3"
          error={faults.of("execution.max_attempts", "The number of attempts")}
          value={draft.attempts}
          onChange={(event) => {
            onChange({ attempts: event.target.value });
          }}
        />
        <Field
          type="number"
          min={1}
          label="Time limit (seconds)"
          placeholder="300"
          hint="An attempt that takes longer is ended."
          error={faults.of("execution.timeout", "The time limit")}
          value={draft.timeoutS}
          onChange={(event) => {
            onChange({ timeoutS: event.target.value });
          }}
        />
      </div>
    </>
  );
}

/** What was chosen stays to be seen, also if there is no such thing any more. */
function optionsOf(names: readonly string[], chosen: string) {
  const all = chosen === "" || names.includes(chosen) ? names : [...names, chosen];
  return all.map((name) => ({ value: name, label: name }));
}

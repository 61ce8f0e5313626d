import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useId, useState } from "react";

import type { Task } from "~/api/client";
import { someTasksQuery } from "~/api/queries/tasks";
import { useChooser } from "~/keyboard/useChooser";
import { cx } from "~/lib/classes";
import { useDebounced } from "~/lib/debounced";
import type { Whose } from "~/lib/whose";
import { CONTROL, Labelled } from "~/ui/Field";
import { StatusBadge } from "~/ui/StatusBadge";
import { LOOKING, titleOf } from "~/words";

interface Props {
  chosen: readonly Task[];
  onChange: (chosen: Task[]) => void;
  error: string | undefined;
  whose: Whose;
}

const FOUND_MAX = 8;
const NONE: readonly Task[] = [];

/** Tasks that must be done first, found by their ref or by words of them. */
export function DependencyField({ chosen, onChange, error, whose }: Props) {
  const list = useId();
  const [typed, setTyped] = useState("");
  const [isOpen, setIsOpen] = useState(false);
  const { found, isPending, isAsked } = useCandidates(typed.trim(), chosen, isOpen, whose);
  const chooser = useChooser({ choices: isOpen ? found : NONE, isPending, onChoose: choose });
  const rowOf = (task: Task) => `${list}-${task.id}`;

  function choose(task: Task) {
    onChange([...chosen, task]);
    type("");
  }

  function type(text: string) {
    setTyped(text);
    chooser.reset();
  }

  function close() {
    setIsOpen(false);
    chooser.reset();
  }

  return (
    <div className="flex flex-col gap-2">
      <Labelled label="After these tasks" error={error} hint="It waits until they are done, and is given their results.">
        {(ids) => (
          <div>
            <input
              {...ids}
              role="combobox"
              aria-expanded={isOpen}
              aria-controls={list}
              aria-autocomplete="list"
              aria-activedescendant={chooser.chosen !== undefined ? rowOf(chooser.chosen) : undefined}
              autoComplete="off"
              placeholder="Find by ref or by words"
              className={cx(CONTROL, "h-8")}
              value={typed}
              onFocus={() => {
                setIsOpen(true);
              }}
              onBlur={close}
              onChange={(event) => {
                setIsOpen(true);
                type(event.target.value);
              }}
              onKeyDown={(event) => {
                if (event.key === "Escape") close();
                else chooser.onKeyDown(event);
              }}
            />
            <ul
              id={list}
              role="listbox"
              aria-label="Tasks"
              aria-busy={isPending}
              hidden={!isOpen || !isAsked}
              className="mt-1 max-h-60 overflow-y-auto rounded-md border border-line-strong bg-surface py-1"
            >
              {found.map((task) => (
                <Candidate
                  key={task.id}
                  id={rowOf(task)}
                  task={task}
                  isChosen={task === chooser.chosen}
                  onChoose={() => {
                    choose(task);
                  }}
                />
              ))}
              {found.length === 0 && <NoCandidate isPending={isPending} isNarrowed={typed.trim() !== ""} />}
            </ul>
          </div>
        )}
      </Labelled>
      {chosen.length > 0 && <Chosen tasks={chosen} onChange={onChange} />}
    </div>
  );
}

/** What fits what is typed and was not chosen yet; until the answer is there, what fitted before. */
function useCandidates(typed: string, chosen: readonly Task[], isOpen: boolean, whose: Whose) {
  const asked = useDebounced(typed);
  const search = useQuery({
    ...someTasksQuery({ ...whose, limit: FOUND_MAX + chosen.length, ...(asked === "" ? {} : { q: asked }) }),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  return {
    found: (search.data ?? []).filter((task) => chosen.every((one) => one.id !== task.id)).slice(0, FOUND_MAX),
    isPending: asked !== typed || search.isPlaceholderData || search.isLoading,
    isAsked: search.data !== undefined,
  };
}

interface CandidateProps {
  id: string;
  task: Task;
  isChosen: boolean;
  onChoose: () => void;
}

function Candidate({ id, task, isChosen, onChoose }: CandidateProps) {
  return (
    // The field itself has the keys: arrows and Enter.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <li
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      onPointerDown={(event) => {
        event.preventDefault();
      }}
      onClick={onChoose}
      className={cx("flex cursor-pointer items-baseline gap-2 px-2.5 py-1", isChosen && "bg-accent-soft")}
    >
      <span className="shrink-0 text-ink-3">{task.ref}</span>
      <span className="min-w-0 flex-1 truncate">{titleOf(task)}</span>
      <StatusBadge status={task.status} />
    </li>
  );
}

function NoCandidate({ isPending, isNarrowed }: { isPending: boolean; isNarrowed: boolean }) {
  const text = isPending ? LOOKING : isNarrowed ? "No task is like that." : "There are no tasks yet.";
  return (
    <li role="option" aria-selected={false} aria-disabled className="px-2.5 py-1 text-ink-3">
      {text}
    </li>
  );
}

function Chosen({ tasks, onChange }: { tasks: readonly Task[]; onChange: (tasks: Task[]) => void }) {
  return (
    <ul aria-label="It waits for" className="flex flex-wrap gap-2">
      {tasks.map((task) => (
        <li key={task.id} className="flex max-w-full items-center gap-1 rounded-full border border-line-strong py-0.5 pr-1 pl-2.5">
          <span className="truncate">
            <span className="text-ink-3">{task.ref}</span> {titleOf(task)}
          </span>
          <button
            type="button"
            aria-label={`Do not wait for ${task.ref}`}
            onClick={() => {
              onChange(tasks.filter((one) => one.id !== task.id));
            }}
            className="rounded-full p-0.5 text-ink-3 hover:bg-sunken hover:text-ink [&_svg]:size-3.5"
          >
            <X />
          </button>
        </li>
      ))}
    </ul>
  );
}

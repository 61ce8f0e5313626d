import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useId, useState } from "react";

import type { Task } from "~/api/client";
import { someTasksQuery } from "~/api/queries/tasks";
import { cx } from "~/lib/classes";
import { useDebounced } from "~/lib/debounced";
import type { Whose } from "~/lib/whose";
import { CONTROL, Labelled } from "~/ui/Field";
import { StatusBadge } from "~/ui/StatusBadge";
import { titleOf } from "~/words";

interface Props {
  chosen: readonly Task[];
  onChange: (chosen: Task[]) => void;
  error: string | undefined;
  whose: Whose;
}

const FOUND_MAX = 8;
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** Tasks that must be done first, found by their ref or by words of them. */
export function DependencyField({ chosen, onChange, error, whose }: Props) {
  const list = useId();
  const [typed, setTyped] = useState("");
  const [isOpen, setIsOpen] = useState(false);
  const [at, setAt] = useState(0);
  const asked = useDebounced(typed.trim());
  const search = useQuery({
    ...someTasksQuery({ ...whose, limit: FOUND_MAX + chosen.length, ...(asked === "" ? {} : { q: asked }) }),
    enabled: isOpen,
    placeholderData: keepPreviousData,
  });
  const found = (search.data ?? []).filter((task) => chosen.every((one) => one.id !== task.id)).slice(0, FOUND_MAX);

  function choose(task: Task | undefined) {
    if (task === undefined) return;
    onChange([...chosen, task]);
    setTyped("");
    setAt(0);
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
              aria-activedescendant={isOpen && found.length > 0 ? `${list}-${String(at)}` : undefined}
              autoComplete="off"
              placeholder="Find by ref or by words"
              className={cx(CONTROL, "h-8")}
              value={typed}
              onFocus={() => {
                setIsOpen(true);
              }}
              onBlur={() => {
                setIsOpen(false);
              }}
              onChange={(event) => {
                setAt(0);
                setIsOpen(true);
                setTyped(event.target.value);
              }}
              onKeyDown={(event) => {
                const step = STEPS[event.key];
                if (step !== undefined) {
                  event.preventDefault();
                  setAt(Math.max(0, Math.min(found.length - 1, at + step)));
                } else if (event.key === "Enter") {
                  event.preventDefault();
                  choose(found[at]);
                } else if (event.key === "Escape") {
                  setIsOpen(false);
                }
              }}
            />
            <ul
              id={list}
              role="listbox"
              aria-label="Tasks"
              hidden={!isOpen || search.data === undefined}
              className="mt-1 max-h-60 overflow-y-auto rounded-md border border-line-strong bg-surface py-1"
            >
              {found.map((task, index) => (
                // The field itself has the keys: arrows and Enter.
                // eslint-disable-next-line jsx-a11y/click-events-have-key-events
                <li
                  key={task.id}
                  id={`${list}-${String(index)}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={index === at}
                  onPointerDown={(event) => {
                    event.preventDefault();
                  }}
                  onClick={() => {
                    choose(task);
                  }}
                  className={cx("flex cursor-pointer items-baseline gap-2 px-2.5 py-1", index === at && "bg-accent-soft")}
                >
                  <span className="shrink-0 text-ink-3">{task.ref}</span>
                  <span className="min-w-0 flex-1 truncate">{titleOf(task)}</span>
                  <StatusBadge status={task.status} />
                </li>
              ))}
              {found.length === 0 && (
                <li role="option" aria-selected={false} aria-disabled className="px-2.5 py-1 text-ink-3">
                  {asked === "" ? "There are no tasks yet." : "No task is like that."}
                </li>
              )}
            </ul>
          </div>
        )}
      </Labelled>
      {chosen.length > 0 && (
        <ul aria-label="It waits for" className="flex flex-wrap gap-2">
          {chosen.map((task) => (
            <li key={task.id} className="flex max-w-full items-center gap-1 rounded-full border border-line-strong py-0.5 pr-1 pl-2.5">
              <span className="truncate">
                <span className="text-ink-3">{task.ref}</span> {titleOf(task)}
              </span>
              <button
                type="button"
                aria-label={`Do not wait for ${task.ref}`}
                onClick={() => {
                  onChange(chosen.filter((one) => one.id !== task.id));
                }}
                className="rounded-full p-0.5 text-ink-3 hover:bg-sunken hover:text-ink [&_svg]:size-3.5"
              >
                <X />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

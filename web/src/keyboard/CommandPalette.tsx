import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type ReactNode, useDeferredValue, useId, useState } from "react";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin, useMe, useSignOut } from "~/api/queries/session";
import { someTasksQuery, tasksByRefQuery } from "~/api/queries/tasks";
import type { Task } from "~/api/client";
import { cx } from "~/lib/classes";
import { type Theme, themeStore } from "~/lib/preferences";
import { useWhose } from "~/lib/whose";
import { placesFor } from "~/shell/places";
import { Dialog } from "~/ui/Dialog";
import { StatusBadge } from "~/ui/StatusBadge";
import { toastProblem } from "~/ui/Toasts";
import { titleOf } from "~/words";

interface Choice {
  id: string;
  group: "Pages" | "Actions" | "Tasks";
  label: string;
  aside?: ReactNode;
  run: () => void;
}

interface Props {
  open: boolean;
  onClose: () => void;
  onHelp: () => void;
}

const TASKS_MAX = 8;
const REF = /^t-\d+$/i;
const THEMES: readonly Theme[] = ["light", "dark", "system"];

export function CommandPalette({ open, ...rest }: Props) {
  return open ? <Opened {...rest} /> : null;
}

function Opened({ onClose, onHelp }: Omit<Props, "open">) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const choices = useChoices(words.trim(), onHelp);
  const chosen = choices[Math.min(at, choices.length - 1)];

  function run(choice: Choice | undefined) {
    if (choice === undefined) return;
    onClose();
    choice.run();
  }

  function onKey(event: KeyboardEvent) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      const next = (Math.min(at, choices.length - 1) + step + choices.length) % Math.max(1, choices.length);
      setAt(next);
      document.getElementById(`${id}-${choices[next]?.id ?? ""}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(chosen);
    }
  }

  return (
    <Dialog open onClose={onClose} title="Find a task or a page" bare>
      <input
        // The dialog is opened to type here at once.
        // eslint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        role="combobox"
        aria-label="Find a task or a page"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen === undefined ? undefined : `${id}-${chosen.id}`}
        placeholder="A page, an action, a task's id or words of it"
        value={words}
        onChange={(event) => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        className="h-12 w-full border-b border-line bg-surface px-4 text-base outline-none"
      />
      <div id={`${id}-list`} role="listbox" aria-label="Found" className="max-h-96 overflow-y-auto p-2">
        {choices.length === 0 && <p className="px-2 py-6 text-center text-ink-2">Nothing is called that.</p>}
        {choices.map((choice, index) => (
          <div key={choice.id}>
            {choice.group !== choices[index - 1]?.group && (
              <p role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-ink-3">
                {choice.group}
              </p>
            )}
            {/* The keyboard works in the field above, which holds the focus. */}
            {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events */}
            <div
              id={`${id}-${choice.id}`}
              role="option"
              tabIndex={-1}
              aria-selected={choice === chosen}
              onClick={() => {
                run(choice);
              }}
              onPointerMove={() => {
                setAt(index);
              }}
              className={cx(
                "flex h-9 cursor-pointer items-center gap-3 rounded-md px-2",
                choice === chosen && "bg-accent-soft",
              )}
            >
              <span className="min-w-0 flex-1 truncate">{choice.label}</span>
              {choice.aside}
            </div>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useChoices(words: string, onHelp: () => void): Choice[] {
  const navigate = useNavigate();
  const isAdmin = useIsAdmin();
  const signOut = useSignOut();
  const tasks = useTaskChoices(words);
  const pages: Choice[] = placesFor(isAdmin).map((place) => ({
    id: `page-${place.key}`,
    group: "Pages",
    label: place.label,
    aside: <span className="text-xs text-ink-3">g {place.key}</span>,
    run: () => void navigate({ to: place.to }),
  }));
  const actions: Choice[] = [
    ...THEMES.map((theme) => ({
      id: `theme-${theme}`,
      group: "Actions" as const,
      label: `Colours: ${theme}`,
      run: () => {
        themeStore.set(theme);
      },
    })),
    { id: "help", group: "Actions", label: "Show the keyboard shortcuts", run: onHelp },
    {
      id: "sign-out",
      group: "Actions",
      label: "Sign out",
      run: () => {
        signOut.mutate(undefined, { onError: toastProblem });
      },
    },
  ];
  const fits = (choice: Choice) => choice.label.toLowerCase().includes(words.toLowerCase());
  return [...[...pages, ...actions].filter(fits), ...tasks];
}

function useTaskChoices(words: string): Choice[] {
  const navigate = useNavigate();
  const me = useMe();
  const users = useQuery({ ...usersQuery, enabled: useIsAdmin() });
  return useFound(words).map((task) => {
    const owner = task.user_id === me.id ? undefined : users.data?.find((user) => user.id === task.user_id);
    return {
      id: `task-${task.id}`,
      group: "Tasks",
      label: `${task.ref}  ${titleOf(task)}`,
      aside: (
        <>
          {owner !== undefined && <span className="shrink-0 text-ink-3">{owner.name}</span>}
          <StatusBadge status={task.status} />
        </>
      ),
      run: () =>
        void navigate({
          to: "/tasks/$id",
          params: { id: task.id },
          search: task.user_id === me.id ? {} : { user: task.user_id },
        }),
    };
  });
}

/** By words of the task, by its id, or by its ref, of which there is one in each user's tasks. */
function useFound(words: string): Task[] {
  const whose = useWhose();
  const asked = useDeferredValue(words);
  const isRef = REF.test(asked);
  const isOfAll = whose.user === "*" && isRef;
  const users = useQuery({ ...usersQuery, enabled: isOfAll });
  const userIds = (users.data ?? []).map((user) => user.id);
  const byWords = useQuery({
    ...someTasksQuery({ ...whose, q: isRef ? asked.toUpperCase() : asked, limit: TASKS_MAX }),
    enabled: asked.length >= 2 && !isOfAll,
  });
  const byRef = useQuery({ ...tasksByRefQuery(asked.toUpperCase(), userIds), enabled: isOfAll && userIds.length > 0 });
  return (isOfAll ? byRef.data : asked.length >= 2 ? byWords.data : undefined) ?? [];
}

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";

import { asProblem } from "~/api/problem";
import { usersQuery } from "~/api/queries/people";
import { useIsAdmin, useMe, useSignOut } from "~/api/queries/session";
import { cx } from "~/lib/classes";
import { useOpenTask } from "~/lib/openTask";
import { type Theme, themeStore } from "~/lib/preferences";
import { placesFor } from "~/shell/places";
import { Dialog } from "~/ui/Dialog";
import { Sentence } from "~/ui/Sentence";
import { StatusBadge } from "~/ui/StatusBadge";
import { toastProblem } from "~/ui/Toasts";
import { LOOKING, titleOf } from "~/words";

import { useChooser } from "./useChooser";
import { useFoundTasks } from "./useFoundTasks";

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

const THEMES: readonly Theme[] = ["light", "dark", "system"];

export function CommandPalette({ open, ...rest }: Props) {
  return open ? <Opened {...rest} /> : null;
}

function Opened({ onClose, onHelp }: Omit<Props, "open">) {
  const [typed, setTyped] = useState("");
  const id = useId();
  const { choices, isPending, error } = useChoices(typed.trim(), onHelp);
  const chooser = useChooser({
    choices,
    isPending,
    // They are found by the page itself; only tasks are asked for.
    isSure: (choice) => choice.group !== "Tasks",
    onChoose: choose,
  });
  const { chosen } = chooser;
  const rowOf = (choice: Choice) => `${id}-${choice.id}`;

  function choose(choice: Choice) {
    onClose();
    choice.run();
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
        aria-activedescendant={chosen === undefined ? undefined : rowOf(chosen)}
        placeholder="A page, an action, a task's id or words of it"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          chooser.reset();
        }}
        onKeyDown={chooser.onKeyDown}
        className="h-12 w-full border-b border-line bg-surface px-4 text-base outline-none"
      />
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label="Found"
        aria-busy={isPending}
        className={cx("max-h-96 overflow-y-auto p-2", chooser.isWaiting && "opacity-60")}
      >
        {choices.map((choice, index) => (
          <Option
            key={choice.id}
            id={rowOf(choice)}
            choice={choice}
            isFirstOfGroup={choice.group !== choices[index - 1]?.group}
            isChosen={choice === chosen}
            onChoose={choose}
            onPoint={chooser.onPoint}
          />
        ))}
      </div>
      {(choices.length === 0 || chooser.isWaiting) && <Remark isPending={isPending} error={error} />}
    </Dialog>
  );
}

interface OptionProps {
  id: string;
  choice: Choice;
  isFirstOfGroup: boolean;
  isChosen: boolean;
  onChoose: (choice: Choice) => void;
  onPoint: (choice: Choice) => void;
}

function Option({ id, choice, isFirstOfGroup, isChosen, onChoose, onPoint }: OptionProps) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return (
    <div>
      {isFirstOfGroup && (
        <p role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-ink-3">
          {choice.group}
        </p>
      )}
      {/* The keyboard works in the field above, which holds the focus. */}
      {/* eslint-disable-next-line jsx-a11y/click-events-have-key-events */}
      <div
        ref={row}
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={isChosen}
        onClick={() => {
          onChoose(choice);
        }}
        onPointerMove={() => {
          onPoint(choice);
        }}
        className={cx("flex h-9 cursor-pointer items-center gap-3 rounded-md px-2", isChosen && "bg-accent-soft")}
      >
        <span className="min-w-0 flex-1 truncate">{choice.label}</span>
        {choice.aside}
      </div>
    </div>
  );
}

/** Why there is nothing to choose, or not yet. */
function Remark({ isPending, error }: { isPending: boolean; error: unknown }) {
  const text = isPending ? LOOKING : error == null ? "Nothing is called that." : asProblem(error).message;
  return (
    <p role="status" className="px-4 pt-2 pb-6 text-center text-ink-2">
      <Sentence text={text} />
    </p>
  );
}

interface Found {
  choices: readonly Choice[];
  isPending: boolean;
  /** Why no tasks could be asked for. */
  error: unknown;
}

function useChoices(words: string, onHelp: () => void): Found {
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
  return { ...tasks, choices: [...[...pages, ...actions].filter(fits), ...tasks.choices] };
}

function useTaskChoices(words: string): Found {
  const open = useOpenTask();
  const me = useMe();
  const users = useQuery({ ...usersQuery, enabled: useIsAdmin() });
  const { tasks, isPending, error } = useFoundTasks(words);
  const choices = tasks.map((task): Choice => {
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
      run: () => {
        open(task);
      },
    };
  });
  return { choices, isPending, error };
}

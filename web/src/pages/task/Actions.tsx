import { useQueries, useQueryClient } from "@tanstack/react-query";
import { CalendarClock, ChevronDown, Copy, Ellipsis, RotateCcw, SkipForward, Terminal, X } from "lucide-react";
import { useState } from "react";

import { type Level, type Task } from "~/api/client";
import { type Action, foreseenQuery } from "~/api/queries/tasks";
import { useShortcut } from "~/keyboard/shortcuts";
import { counted } from "~/lib/format";
import type { Whose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { Menu, type MenuItem } from "~/ui/Menu";
import { toast, toastProblem } from "~/ui/Toasts";
import { LEVEL, LEVELS, RETRY, settledAt, SKIP, STATUS } from "~/words";

import { cancel, change, retry, skip } from "./acts";
import { submitCommand } from "./command";
import { TimesDialog } from "./TimesDialog";

const ACTIONS: readonly Action[] = ["retry", "cancel", "skip", "reprioritise"];
const CANCEL_TASK = "Cancel the task";
const SKIP_TASK = "Skip the task";

interface Foreseen {
  isAllowed: boolean;
  /** Why it cannot be done. */
  why: string | undefined;
  /** How many others would be cancelled with it. */
  also: number;
}

/** What each action would do is asked of the hub: whether one is allowed is its rule, not this page's. */
function useForeseen(task: Task, whose: Whose): Record<Action, Foreseen> {
  return useQueries({
    queries: ACTIONS.map((action) => foreseenQuery(task, action, whose)),
    combine: (found) => {
      const entries = ACTIONS.map((action, index): [Action, Foreseen] => {
        const [told, thrown] = [found[index]?.data, found[index]?.error];
        const result = told?.results[0];
        return [action, { isAllowed: result?.ok === true, why: result?.detail ?? thrown?.message, also: told?.counts.also ?? 0 }];
      });
      return Object.fromEntries(entries) as Record<Action, Foreseen>;
    },
  });
}

export function Actions({ task, whose }: { task: Task; whose: Whose }) {
  const foreseen = useForeseen(task, whose);
  const [asks, setAsks] = useState<"cancel" | "skip" | "times" | null>(null);
  const close = () => {
    setAsks(null);
  };
  const client = useQueryClient();
  const again = () =>
    void retry(task, whose).then(() => {
      toast(`${task.ref} is tried again.`);
    }, toastProblem);
  const allowed = (action: Action, run: () => void) => () => {
    if (foreseen[action].isAllowed) run();
    else if (foreseen[action].why !== undefined) toastProblem(new Error(foreseen[action].why));
  };
  const askFor = (what: "cancel" | "skip") =>
    allowed(what, () => {
      setAsks(what);
      // Who depends on it may have changed since the page was opened.
      void client.invalidateQueries({ queryKey: foreseenQuery(task, what, whose).queryKey });
    });
  useShortcut("r", "Retry the task", allowed("retry", again));
  useShortcut("c", CANCEL_TASK, askFor("cancel"));
  useShortcut("s", SKIP_TASK, askFor("skip"));
  return (
    <>
      {foreseen.retry.isAllowed && (
        <Button look="primary" icon={<RotateCcw aria-hidden />} onClick={again}>
          {RETRY}
        </Button>
      )}
      {foreseen.cancel.isAllowed && (
        <Button look="danger" icon={<X aria-hidden />} disabled={task.cancel_requested_at != null} onClick={askFor("cancel")}>
          {task.cancel_requested_at == null ? "Cancel" : "Cancelling"}
        </Button>
      )}
      {foreseen.reprioritise.isAllowed && <PriorityMenu task={task} whose={whose} />}
      <MoreMenu
        task={task}
        foreseen={foreseen}
        onSkip={askFor("skip")}
        onTimes={() => {
          setAsks("times");
        }}
      />
      <CancelDialog open={asks === "cancel"} onClose={close} task={task} whose={whose} also={foreseen.cancel.also} />
      <SkipDialog open={asks === "skip"} onClose={close} task={task} whose={whose} />
      {asks === "times" && <TimesDialog onClose={close} task={task} whose={whose} />}
    </>
  );
}

function PriorityMenu({ task, whose }: { task: Task; whose: Whose }) {
  const set = (level: Level) => change(task, whose, { priority: level });
  const items = LEVELS.map((level): MenuItem => ({
    label: LEVEL[level].label,
    isChosen: level === task.priority,
    onSelect: () => {
      if (level === task.priority) return;
      set(level).then(({ priority }) => {
        toast(settledAt(`${task.ref} is`, level, priority), {
          undo: () => change(task, whose, { priority: task.priority_value }),
        });
      }, toastProblem);
    },
  }));
  return (
    <Menu label="Change the priority" items={items} className="border border-line-strong bg-surface px-3">
      Priority
      <ChevronDown aria-hidden />
    </Menu>
  );
}

interface MoreProps {
  task: Task;
  foreseen: Record<Action, Foreseen>;
  onSkip: () => void;
  onTimes: () => void;
}

function MoreMenu({ task, foreseen, onSkip, onTimes }: MoreProps) {
  const items: (MenuItem | "line")[] = [
    {
      label: "Skip…",
      icon: <SkipForward aria-hidden />,
      disabled: !foreseen.skip.isAllowed,
      hint: foreseen.skip.why,
      onSelect: onSkip,
    },
    {
      label: "Change its times…",
      icon: <CalendarClock aria-hidden />,
      disabled: !foreseen.reprioritise.isAllowed,
      hint: foreseen.reprioritise.why,
      onSelect: onTimes,
    },
    "line",
    { label: "Copy its id", icon: <Copy aria-hidden />, onSelect: () => { copy(task.id, "The id"); } },
    {
      label: "Copy as a command",
      icon: <Terminal aria-hidden />,
      hint: "The line for a shell that submits the same again",
      onSelect: () => { copy(submitCommand(task), "The command that submits the same again"); },
    },
    {
      label: "Copy the command for its log",
      icon: <Terminal aria-hidden />,
      onSelect: () => { copy(`taskyard log ${task.id} --follow`, "The command"); },
    },
  ];
  return (
    <Menu label="More" items={items} className="border border-line-strong bg-surface">
      <Ellipsis aria-hidden />
    </Menu>
  );
}

function copy(text: string, what: string): void {
  Promise.resolve(navigator.clipboard?.writeText(text) ?? Promise.reject(new Error())).then(
    () => {
      toast(`${what} was copied.`);
    },
    () => {
      toastProblem(new Error("The browser does not let this page copy: it needs https, or this machine."));
    },
  );
}

interface AskProps {
  open: boolean;
  onClose: () => void;
  task: Task;
  whose: Whose;
}

function CancelDialog({ also, task, whose, ...rest }: AskProps & { also: number }) {
  const isHeld = task.status === "running" || task.status === "scheduled";
  return (
    <ConfirmDialog
      {...rest}
      title={`Cancel ${task.ref}`}
      action={also > 0 ? `Cancel ${counted(also + 1, "task")}` : CANCEL_TASK}
      look="danger"
      reason="optional"
      onConfirm={(reason) =>
        cancel(task, whose, reason).then(() => {
          toast(isHeld ? `${task.ref} was asked to stop.` : `${task.ref} was cancelled.`);
        })
      }
    >
      <p>
        {isHeld
          ? "Its daemon is asked to stop it, and kills it if it does not. What it has done so far stays done."
          : `It is ${STATUS[task.status].label.toLowerCase()} and will not run.`}
      </p>
      {also > 0 && <p>{`${counted(also, "task that depends on it is", "tasks that depend on it are")} cancelled with it.`}</p>}
      <p className="text-ink-2">This cannot be undone; it can only be submitted again.</p>
    </ConfirmDialog>
  );
}

function SkipDialog({ task, whose, ...rest }: AskProps) {
  return (
    <ConfirmDialog
      {...rest}
      title={`Skip ${task.ref}`}
      action={SKIP_TASK}
      reason="optional"
      onConfirm={(reason) =>
        skip(task, whose, reason).then(() => {
          toast(`${task.ref} was skipped.`, { undo: () => retry(task, whose) });
        })
      }
    >
      <p>{`${SKIP}ped, it does not run, and what depends on it goes on as its own policy says.`}</p>
      <p className="text-ink-2">It can be brought back with {RETRY}.</p>
    </ConfirmDialog>
  );
}

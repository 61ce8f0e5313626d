import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useState } from "react";

import type { Task } from "~/api/client";
import { reviewsQuery } from "~/api/queries/reviews";
import { cx } from "~/lib/classes";
import { counted } from "~/lib/format";
import { useOwnerOf, useWhoseOf } from "~/lib/owners";
import { useWhose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { IconButton } from "~/ui/IconButton";
import { ErrorDetails } from "~/ui/ErrorDetails";
import { RelativeTime } from "~/ui/RelativeTime";
import { Skeleton } from "~/ui/Skeleton";
import { TaskLink } from "~/ui/TaskLink";
import { titleOf } from "~/words";

import { VerdictLine } from "./History";
import { NO_MESSAGE } from "./PatternHead";
import { VerdictMenu } from "./VerdictButtons";
import type { Verdict } from "./verdicts";

interface Props {
  letters: readonly Task[];
  selected: ReadonlySet<string>;
  cursorId: string | null;
  onToggle: (id: string) => void;
  onDecide: (verdict: Verdict, task: Task) => void;
}

const STEP = 50;

/** The tasks that failed in one way, newest first. */
export function Letters({ letters, ...rest }: Props) {
  const ownerOf = useOwnerOf(useWhose());
  const [shown, setShown] = useState(STEP);
  return (
    <>
      <ul aria-label="Dead letters of this kind" className="divide-y divide-line border-t border-line">
        {letters.slice(0, shown).map((task) => (
          <Letter key={task.id} task={task} owner={ownerOf(task)} {...rest} />
        ))}
      </ul>
      {letters.length > shown && (
        <p className="border-t border-line p-3 text-center">
          <Button
            onClick={() => {
              setShown(shown + STEP);
            }}
          >
            Show {counted(Math.min(STEP, letters.length - shown), "more", "more")} of {letters.length}
          </Button>
        </p>
      )}
    </>
  );
}

interface LetterProps extends Omit<Props, "letters"> {
  task: Task;
  owner: string | undefined;
}

function Letter({ task, owner, selected, cursorId, onToggle, onDecide }: LetterProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li
      data-cursor={task.id === cursorId || undefined}
      className={cx("data-cursor:shadow-[inset_2px_0_var(--color-accent)]", selected.has(task.id) && "bg-accent-soft")}
    >
      <div className="flex items-center gap-2 py-1.5 pr-3 pl-4">
        <input
          type="checkbox"
          aria-label={`Select ${task.ref}`}
          checked={selected.has(task.id)}
          onChange={() => {
            onToggle(task.id);
          }}
          className="size-4 shrink-0 accent-accent"
        />
        <IconButton
          label={`${isOpen ? "Hide" : "Show"} what happened to ${task.ref}`}
          aria-expanded={isOpen}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          <ChevronRight className={cx(isOpen && "rotate-90")} />
        </IconButton>
        <div className="min-w-0 flex-1">
          <TaskLink task={task} className="block truncate hover:underline">
            {titleOf(task)}
          </TaskLink>
          <p className="truncate text-xs text-ink-3">
            <span className="font-mono">{task.ref}</span> · {task.type}
            {owner !== undefined && <> · {owner}</>}
            {task.review?.verdict === "escalate" && <> · escalated to {task.review.to}</>}
          </p>
        </div>
        <span className="shrink-0 text-xs text-ink-2">
          <RelativeTime at={task.completed_at} />
        </span>
        <VerdictMenu
          about={task.ref}
          onDecide={(verdict) => {
            onDecide(verdict, task);
          }}
        />
      </div>
      {isOpen && <Details task={task} />}
    </li>
  );
}

function Details({ task }: { task: Task }) {
  const reviews = useQuery(reviewsQuery(task.id, useWhoseOf()(task)));
  const { error } = task;
  return (
    <div className="flex flex-col gap-3 px-4 pb-4 md:pl-20">
      <p className="text-failed">
        {error?.code !== undefined && <span className="mr-2 font-mono text-xs">{error.code}</span>}
        {error?.message === undefined || error.message === "" ? NO_MESSAGE : error.message}
      </p>
      <ErrorDetails details={error?.details} />
      <div>
        <h3 className="mb-1 text-xs font-medium text-ink-2">Verdicts so far</h3>
        {reviews.isPending && <Skeleton className="h-4 w-48" />}
        {reviews.data?.length === 0 && <p className="text-ink-3">Nobody has decided about it yet.</p>}
        <ul className="flex flex-col gap-1">
          {reviews.data?.map((one, index) => (
            <li key={index}>
              <VerdictLine record={one} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

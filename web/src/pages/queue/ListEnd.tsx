import { Link } from "@tanstack/react-router";
import { ListTodo, SearchX } from "lucide-react";

import { asProblem } from "~/api/problem";
import type { Filters } from "~/lib/filters";
import { counted } from "~/lib/format";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { ErrorState } from "~/ui/ErrorState";
import { Sentence } from "~/ui/Sentence";
import { SkeletonRows } from "~/ui/Skeleton";
import { TRY_AGAIN } from "~/words";

import { isNarrowed, tabOf, type TabId } from "./listed";
import type { Snapshot, TaskList } from "./taskList";

interface Props {
  list: TaskList;
  shown: Snapshot;
}

/** Below the last row: what is being fetched, what could not be, or that this is all. */
export function ListEnd({ list, shown, isSearch }: Props & { isSearch: boolean }) {
  if (shown.error !== null) {
    return (
      <p role="alert" className="flex items-center justify-center gap-3 p-3 text-failed">
        <span>
          <Sentence text={asProblem(shown.error).message} />
        </span>
        <Button onClick={() => void list.more()}>{TRY_AGAIN}</Button>
      </p>
    );
  }
  if (shown.isLoading) return <p className="p-3 text-center text-ink-3">{isSearch ? "Looking through older tasks…" : "Fetching more…"}</p>;
  if (shown.hasMore) return <KeepLooking list={list} />;
  return <p className="p-3 text-center text-xs text-ink-3">{counted(shown.rows, "task")}, and no more.</p>;
}

function KeepLooking({ list }: { list: TaskList }) {
  return (
    <p className="p-3 text-center">
      <Button onClick={() => void list.more()}>Look through older tasks</Button>
    </p>
  );
}

const EMPTY: Record<TabId | "", { title: string; text: string }> = {
  all: { title: "No tasks yet", text: "Add one, or let a schedule, a webhook or an agent make it." },
  running: { title: "Nothing runs at this moment", text: "What starts appears here by itself." },
  pending: { title: "Nothing waits for its turn", text: "Every task that could start has started." },
  waiting: { title: "No task waits for another", text: "Tasks that depend on unfinished ones are listed here." },
  blocked: { title: "Nothing is blocked", text: "A task comes here when one that it depends on failed." },
  failed: { title: "Nothing has failed", text: "Failed tasks stay here until they succeed or somebody decides about them." },
  "": { title: "No task has this status", text: "What comes to have it appears here by itself." },
};

/** In place of the rows when there are none. */
export function Nothing({ list, shown, filters, onClear }: Props & { filters: Filters; onClear: () => void }) {
  if (shown.error !== null) return <ErrorState error={shown.error} onRetry={() => void list.restart()} />;
  if (shown.isLoading) return <SkeletonRows rows={10} />;
  if (isNarrowed(filters)) {
    return (
      <EmptyState
        icon={<SearchX />}
        title="No task fits"
        action={
          <div className="flex gap-2">
            {shown.hasMore && <KeepLooking list={list} />}
            <Button onClick={onClear}>Clear the filters</Button>
          </div>
        }
      >
        Nothing in this list matches all that was asked for.
      </EmptyState>
    );
  }
  const tab = tabOf(filters.status);
  const { title, text } = EMPTY[tab];
  return (
    <EmptyState
      icon={<ListTodo />}
      title={title}
      action={
        tab === "all" && (
          <Link to="/add" className="inline-flex h-8 items-center rounded-md bg-accent px-3 font-medium text-on-accent hover:bg-accent-strong">
            Add a task
          </Link>
        )
      }
    >
      {text}
    </EmptyState>
  );
}

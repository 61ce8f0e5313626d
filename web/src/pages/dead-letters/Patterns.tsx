import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import type { Task } from "~/api/client";
import { deadLettersQuery } from "~/api/queries/yard";
import { useShortcut } from "~/keyboard/shortcuts";
import { useRowCursor } from "~/keyboard/useRowCursor";
import { counted } from "~/lib/format";
import { useOpenTask } from "~/lib/openTask";
import { useWhose } from "~/lib/whose";
import { Loaded } from "~/ui/Loaded";
import { SkeletonRows } from "~/ui/Skeleton";

import { Letters } from "./Letters";
import { type FailurePattern, PatternHead } from "./PatternHead";
import { VerdictButtons } from "./VerdictButtons";
import type { Meant } from "./VerdictDialog";
import { REVIEWED_MAX, type Verdict, VERDICT, VERDICTS } from "./verdicts";

/** What j and k walk over: the patterns, and below the open one its tasks. */
interface Stop {
  id: string;
  pattern: FailurePattern;
  task?: Task;
}

interface Props {
  patterns: readonly FailurePattern[];
  /** The fingerprint of the one that is open. */
  openId: string | undefined;
  onOpen: (fingerprint: string | undefined) => void;
  onDecide: (meant: Meant) => void;
}

export function Patterns({ patterns, openId, onOpen, onDecide }: Props) {
  const whose = useWhose();
  const open = patterns.find((pattern) => pattern.fingerprint === openId);
  const letters = useQuery({
    ...deadLettersQuery({ ...whose, limit: REVIEWED_MAX, fingerprint: openId ?? "" }),
    enabled: open !== undefined,
  });
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const shown = open === undefined ? [] : (letters.data ?? []);
  const chosen = shown.filter((task) => selected.has(task.id));

  function toggle(id: string) {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  }
  function press(pattern: FailurePattern) {
    setSelected(new Set());
    onOpen(pattern === open ? undefined : pattern.fingerprint);
  }
  function decideSome(verdict: Verdict, tasks: readonly Task[]) {
    const about = tasks.length === 1 ? tasks[0]?.error?.message : open?.sample_message;
    onDecide({ verdict, ids: tasks.map((task) => task.id), about: about ?? undefined });
  }
  function decide(verdict: Verdict, { pattern, task }: Omit<Stop, "id">) {
    if (chosen.length > 0) decideSome(verdict, chosen);
    else if (task !== undefined) decideSome(verdict, [task]);
    else onDecide({ verdict, fingerprint: pattern.fingerprint, about: pattern.sample_message ?? undefined });
  }

  const cursor = useStops(patterns, open, shown, press, toggle);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.querySelector("[data-cursor]")?.scrollIntoView({ block: "nearest" });
  }, [cursor.id]);

  return (
    <ul ref={list} aria-label="Failure patterns" className="flex flex-col gap-3">
      {patterns.map((pattern) => (
        <li key={pattern.fingerprint} className="overflow-hidden rounded-lg border border-line bg-surface">
          <PatternHead
            pattern={pattern}
            isOpen={pattern === open}
            isAtCursor={cursor.id === pattern.fingerprint}
            onPress={() => {
              press(pattern);
            }}
          />
          {pattern === open && (
            <div id={`letters-${pattern.fingerprint}`}>
              <DecideBar
                pattern={pattern}
                chosen={chosen.length}
                onDecide={(verdict) => {
                  decide(verdict, { pattern });
                }}
              />
              <Loaded query={letters} loading={<SkeletonRows rows={Math.min(4, pattern.count)} />}>
                {(found) => (
                  <Letters
                    letters={found}
                    selected={selected}
                    cursorId={cursor.id}
                    onToggle={toggle}
                    onDecide={(verdict, task) => {
                      decideSome(verdict, [task]);
                    }}
                  />
                )}
              </Loaded>
            </div>
          )}
        </li>
      ))}
      {VERDICTS.map((verdict) => (
        <VerdictKey
          key={verdict}
          verdict={verdict}
          onDecide={() => {
            if (cursor.row !== undefined) decide(verdict, cursor.row);
          }}
        />
      ))}
    </ul>
  );
}

interface BarProps {
  pattern: FailurePattern;
  chosen: number;
  onDecide: (verdict: Verdict) => void;
}

function DecideBar({ pattern, chosen, onDecide }: BarProps) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-2 border-t border-line bg-page px-4 py-2">
      <p role="status" className="text-ink-2">
        {chosen > 0 ? `${counted(chosen, "task")} selected` : pattern.count === 1 ? "The only one" : `All ${counted(pattern.count, "task")}`}
      </p>
      <VerdictButtons about={chosen > 0 ? "what is selected" : "all of this kind"} onDecide={onDecide} />
    </div>
  );
}

function VerdictKey({ verdict, onDecide }: { verdict: Verdict; onDecide: () => void }) {
  useShortcut(VERDICT[verdict].key, VERDICT[verdict].label, onDecide);
  return null;
}

function useStops(
  patterns: readonly FailurePattern[],
  open: FailurePattern | undefined,
  letters: readonly Task[],
  press: (pattern: FailurePattern) => void,
  toggle: (id: string) => void,
) {
  const openTask = useOpenTask();
  const stops = patterns.flatMap<Stop>((pattern) => [
    { id: pattern.fingerprint, pattern },
    ...(pattern === open ? letters.map((task) => ({ id: task.id, pattern, task })) : []),
  ]);
  return useRowCursor({
    rows: stops,
    rowId: (stop) => stop.id,
    onOpen: ({ pattern, task }) => {
      if (task === undefined) press(pattern);
      else openTask(task);
    },
    onToggle: (id) => {
      if (letters.some((task) => task.id === id)) toggle(id);
    },
  });
}

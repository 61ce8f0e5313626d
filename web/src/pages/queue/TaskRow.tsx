import { useQuery } from "@tanstack/react-query";
import { ArrowUpFromLine, Ban, EllipsisVertical, RotateCcw, SkipForward } from "lucide-react";
import { memo, type MouseEvent, type ReactNode, useEffect, useState } from "react";

import type { Level } from "~/api/client";
import { taskWhyQuery } from "~/api/queries/tasks";
import { cx } from "~/lib/classes";
import { duration, instant, relative } from "~/lib/format";
import { plainSentence } from "~/lib/hubTimes";
import { useNow, useSaidNow } from "~/lib/now";
import { useWhoseOf } from "~/lib/owners";
import { useZone } from "~/lib/preferences";
import { type Action, isOffered } from "~/lib/taskActions";
import { Elapsed } from "~/ui/Duration";
import { LevelBadge } from "~/ui/LevelBadge";
import { Menu, type MenuItem } from "~/ui/Menu";
import { RelativeTime } from "~/ui/RelativeTime";
import { Sentence } from "~/ui/Sentence";
import { StatusBadge } from "~/ui/StatusBadge";
import { isControl } from "~/ui/Table";
import { TaskLink } from "~/ui/TaskLink";
import { CANCEL, LEVEL, LEVELS, RETRY, SKIP, SOURCE } from "~/words";

import { percentOf, reasonOf } from "./reasons";
import type { Row } from "./rows";

export type Do = (action: Action, row: Row, level?: Level) => void;

interface Props {
  row: Row;
  index: number;
  top: number;
  height: number;
  isTight: boolean;
  /** Whether the list has columns for where and how long tasks ran. */
  mayHaveRun: boolean;
  isSelected: boolean;
  isAtCursor: boolean;
  /** Names, where they say more than the list as a whole. */
  owner: string | undefined;
  daemon: string | undefined;
  /** Whether the hub has the time to be asked why each queued one waits. */
  asksWhy: boolean;
  onPress: (row: Row) => void;
  onToggle: (id: string, isRange: boolean) => void;
  onDo: Do;
}

const STAYED_MS = 400;

const GRID = "grid grid-cols-[1.25rem_minmax(0,1fr)_minmax(0,1.1fr)_5.5rem_5.5rem_2rem] items-center gap-x-4 px-4";
const GRID_WITH_RUNS = cx(GRID, "xl:grid-cols-[1.25rem_minmax(0,1fr)_minmax(0,1.1fr)_5.5rem_6.5rem_5.5rem_5.5rem_2rem]");

export function gridOf(mayHaveRun: boolean): string {
  return mayHaveRun ? GRID_WITH_RUNS : GRID;
}

/** On a cell that only a large window has room for. */
export const LARGE_ONLY = "max-xl:hidden";

/** One task: a line of the table, or a card where there is no room for one. */
export const TaskRow = memo(function TaskRow(props: Props) {
  const { row, index, top, height, isTight, mayHaveRun, isSelected, isAtCursor, onPress } = props;
  // Menus are made for rows that somebody comes to: hundreds of hidden ones would make scrolling slow.
  const [isNear, setIsNear] = useState(false);
  const come = () => {
    setIsNear(true);
  };
  return (
    // The link in it and Enter do the same for the keyboard.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      role="row"
      tabIndex={-1}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-cursor={isAtCursor || undefined}
      data-gone={row.isGone || undefined}
      onPointerEnter={come}
      onFocus={come}
      onClick={(event) => {
        if (!isControl(event.target)) onPress(row);
      }}
      className={cx(
        "group absolute inset-x-0 cursor-pointer border-b border-line hover:bg-page aria-selected:bg-accent-soft data-cursor:shadow-[inset_2px_0_var(--color-accent)]",
        isTight ? "flex flex-col justify-center gap-0.5 py-2 pr-2 pl-3" : gridOf(mayHaveRun),
      )}
      style={{ height, transform: `translateY(${String(top)}px)` }}
    >
      {isTight ? <Card {...props} /> : <Line {...props} isNear={isNear || isAtCursor} />}
    </div>
  );
});

function Line({ row, owner, daemon, mayHaveRun, isSelected, isNear, asksWhy, onToggle, onDo }: Props & { isNear: boolean }) {
  return (
    <>
      <div role="cell">
        <Box row={row} isSelected={isSelected} onToggle={onToggle} />
      </div>
      <div role="cell" className="min-w-0">
        <TaskLink task={{ ...row, input: row.title }} className="block truncate font-medium group-data-gone:text-ink-3 hover:underline" />
        <About row={row} owner={owner} />
      </div>
      <div role="cell" className="min-w-0">
        <div className="flex items-center gap-2">
          <StatusBadge status={row.status} />
          <Progress row={row} />
        </div>
        <Why row={row} asksWhy={asksWhy} />
      </div>
      <div role="cell">
        <LevelBadge level={row.level} />
      </div>
      {mayHaveRun && (
        <>
          <div role="cell" className={cx("truncate text-ink-2", LARGE_ONLY)}>
            {daemon ?? <span className="text-ink-3">–</span>}
          </div>
          <div role="cell" className={cx("text-right text-ink-2", LARGE_ONLY)}>
            <RunTime row={row} />
          </div>
        </>
      )}
      <div role="cell" className="text-right text-ink-2">
        <RelativeTime at={row.createdAt} />
      </div>
      <div role="cell">{isNear && <Actions row={row} onDo={onDo} />}</div>
    </>
  );
}

function Card({ row, owner, daemon, isSelected, asksWhy, onToggle, onDo }: Props) {
  return (
    <>
      <div role="cell" className="flex min-w-0 items-center gap-2.5">
        <Box row={row} isSelected={isSelected} onToggle={onToggle} />
        <TaskLink task={{ ...row, input: row.title }} className="min-w-0 flex-1 truncate font-medium group-data-gone:text-ink-3" />
        <Actions row={row} onDo={onDo} />
      </div>
      <div role="cell" className="flex min-w-0 items-center gap-2 pr-2">
        <StatusBadge status={row.status} />
        <Progress row={row} />
        <div className="min-w-0 flex-1">
          <Why row={row} asksWhy={asksWhy} />
        </div>
      </div>
      <div role="cell" className="flex min-w-0 items-center gap-2 pr-2 text-xs text-ink-3">
        <LevelBadge level={row.level} />
        <div className="min-w-0 flex-1">
          <About row={row} owner={daemon ?? owner} />
        </div>
        <Age row={row} />
      </div>
    </>
  );
}

function Box({ row, isSelected, onToggle }: Pick<Props, "row" | "isSelected" | "onToggle">) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${row.ref}`}
      checked={isSelected}
      // A click, not a change: only it knows of the shift key.
      onClick={(event: MouseEvent) => {
        onToggle(row.id, event.shiftKey);
      }}
      readOnly
      className="block size-4 accent-accent"
    />
  );
}

function About({ row, owner }: { row: Row; owner: string | undefined }) {
  const parts = [row.type, row.queue === "default" ? null : row.queue, row.source === "user" ? null : SOURCE[row.source], owner];
  return (
    <p className="truncate text-xs text-ink-3">
      <span className="font-mono">{row.ref}</span>
      {parts.filter(Boolean).map((part, index) => (
        <span key={index}> · {part}</span>
      ))}
    </p>
  );
}

function Why({ row, asksWhy }: { row: Row; asksWhy: boolean }) {
  const zone = useZone();
  const said = useSaidNow((now) => reasonOf(row, now, zone) ?? "");
  if (said !== "") return <Reason title={said}>{said}</Reason>;
  return row.status === "queued" && asksWhy ? <AskedWhy row={row} /> : null;
}

function AskedWhy({ row }: { row: Row }) {
  const why = useQuery({ ...taskWhyQuery(row.id, useWhoseOf()(row)), enabled: useHasStayed(), retry: false });
  const zone = useZone();
  const said = why.data?.reasons[0]?.message ?? why.data?.summary ?? "";
  const plain = useSaidNow((now) => plainSentence(said, now, zone));
  // Between two looks it may have started: then the status says more.
  if (why.data?.status !== "queued") return null;
  return (
    <Reason title={plain}>
      <Sentence text={said} />
    </Reason>
  );
}

/** Whoever scrolls past a row does not read it. */
function useHasStayed(): boolean {
  const [hasStayed, setHasStayed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setHasStayed(true);
    }, STAYED_MS);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return hasStayed;
}

function Reason({ title, children }: { title: string; children: ReactNode }) {
  return (
    <p className="truncate text-xs text-ink-3" title={title}>
      {children}
    </p>
  );
}

function Progress({ row }: { row: Row }) {
  const said = percentOf(row);
  if (said === null) return null;
  return (
    <span className="flex items-center gap-1.5 text-xs text-ink-2">
      <span
        role="progressbar"
        aria-label={`Progress of ${row.ref}`}
        aria-valuenow={Math.round(row.percent ?? 0)}
        aria-valuemin={0}
        aria-valuemax={100}
        className="h-1 w-14 overflow-hidden rounded-full bg-line"
      >
        <span className="block h-full rounded-full bg-accent" style={{ width: said.replace(" ", "") }} />
      </span>
      {said}
    </span>
  );
}

/** How long it has worked, or did. */
function RunTime({ row }: { row: Row }) {
  if (row.startedAt === null || (row.status !== "running" && row.endedAt === null)) return <span className="text-ink-3">–</span>;
  return <Elapsed from={row.startedAt} to={row.endedAt} />;
}

/** On a card there is room for one: the time that it runs, else since when it is there. */
function Age({ row }: { row: Row }) {
  const now = useNow();
  const started = instant(row.startedAt);
  if (row.status !== "running" || started === null) return <span className="shrink-0">{relative(Date.parse(row.createdAt), now)}</span>;
  return <span className="shrink-0">{duration(Math.max(0, now - started))}</span>;
}

function Actions({ row, onDo }: { row: Row; onDo: Do }) {
  const item = (action: Action, label: string, icon: MenuItem["icon"]): MenuItem => ({
    label,
    icon,
    disabled: !isOffered(action, { status: row.status, attempts: row.wasTried ? 1 : 0 }),
    onSelect: () => {
      onDo(action, row);
    },
  });
  const levels = LEVELS.filter((level) => level !== row.level).map((level) => ({
    label: `Make it ${LEVEL[level].label.toLowerCase()}`,
    icon: <ArrowUpFromLine />,
    disabled: !isOffered("reprioritise", row),
    onSelect: () => {
      onDo("reprioritise", row, level);
    },
  }));
  return (
    <Menu
      label={`Actions for ${row.ref}`}
      items={[
        item("retry", RETRY, <RotateCcw />),
        item("skip", SKIP, <SkipForward />),
        { ...item("cancel", CANCEL, <Ban />), tone: "failed" },
        "line",
        ...levels,
      ]}
    >
      <EllipsisVertical />
    </Menu>
  );
}

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp } from "lucide-react";
import { type ReactNode, type Ref, type RefObject, useEffect, useImperativeHandle, useRef } from "react";

import { useRowCursor } from "~/keyboard/useRowCursor";
import { cx } from "~/lib/classes";
import { count } from "~/lib/format";
import { useIsTight } from "~/lib/narrow";
import { Skeleton } from "~/ui/Skeleton";

import type { Row } from "./rows";
import { useIsBusy } from "./useIsBusy";
import { topOf } from "./useTaskList";
import type { Snapshot, TaskList } from "./taskList";
import { type Do, gridOf, LARGE_ONLY, TaskRow } from "./TaskRow";

export interface ListRest {
  /** At its top, with neither pointer nor focus within: only then may rows be put in above. */
  isAtRest: () => boolean;
}

interface Props {
  list: TaskList;
  shown: Snapshot;
  mayHaveRun: boolean;
  selected: ReadonlySet<string>;
  onToggle: (id: string, isRange: boolean) => void;
  onToggleAll: () => void;
  onOpen: (row: Row) => void;
  onCursor: (row: Row | undefined) => void;
  onDo: Do;
  ownerOf: (row: Row) => string | undefined;
  daemonOf: (row: Row) => string | undefined;
  rest: Ref<ListRest>;
  /** How far down it is scrolled, for when it is left. */
  top: RefObject<number>;
  footer: ReactNode;
}

const LINE_PX = 52;
const CARD_PX = 88;
const OVERSCAN_ROWS = 6;
const END_ROWS = 25;
const FRESH_MAX = 100;
const HEADS = [
  { label: "Task" },
  { label: "Status" },
  { label: "Priority" },
  { label: "Daemon", look: LARGE_ONLY, isOfRuns: true },
  { label: "Ran", look: cx("text-right", LARGE_ONLY), isOfRuns: true },
  { label: "Created", look: "text-right" },
];

/** The rows in sight of a list that may be as long as it likes. */
export function TaskRows(props: Props) {
  const { list, shown, mayHaveRun, selected, onToggle, onOpen, onCursor, onDo, rest } = props;
  const isTight = useIsTight();
  const rowPx = isTight ? CARD_PX : LINE_PX;
  const area = useRef<HTMLDivElement>(null);
  const isPointed = useRef(false);
  const lines = useVirtualizer({
    count: shown.rows,
    getScrollElement: () => area.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN_ROWS,
    initialOffset: () => topOf(list),
    getItemKey: (index) => list.rowAt(index)?.id ?? index,
  });
  const inSight = lines.getVirtualItems();
  const [first, last] = [inSight[0]?.index ?? 0, inSight.at(-1)?.index ?? 0];
  const isBusy = useIsBusy();
  const cursor = useRowCursor({
    rows: list.kept(),
    rowId: (row) => row.id,
    onOpen,
    onToggle: (id) => {
      onToggle(id, false);
    },
  });

  useEffect(() => {
    lines.measure();
  }, [lines, rowPx]);
  useEffect(() => {
    if (cursor.id !== null) lines.scrollToIndex(list.indexOf(cursor.id));
    onCursor(cursor.row);
    // Only when the cursor moves: rows that come and go must not scroll the list.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [cursor.id, cursor.row?.status]);
  useEffect(() => {
    list.show(first, last);
    if (shown.rows > 0 && last >= shown.rows - END_ROWS && shown.error === null) void list.more();
  }, [list, first, last, shown.rows, shown.error]);
  useImperativeHandle(rest, () => ({
    isAtRest: () =>
      (area.current?.scrollTop ?? 0) <= 0 && !isPointed.current && area.current?.contains(document.activeElement) !== true,
  }));

  return (
    <div
      // Around what offers new rows too: it may come to lie under the pointer, which then has not left.
      onPointerEnter={() => (isPointed.current = true)}
      onPointerLeave={() => {
        isPointed.current = false;
        list.settle();
      }}
      className="relative flex min-h-0 flex-1 flex-col"
    >
      {shown.fresh > 0 && (
        <FreshPill
          fresh={shown.fresh}
          onPress={() => {
            area.current?.scrollTo({ top: 0 });
            void list.restart();
          }}
        />
      )}
      <div
        ref={area}
        role="region"
        tabIndex={0}
        aria-label="Tasks"
        onScroll={(event) => {
          props.top.current = event.currentTarget.scrollTop;
        }}
        onBlur={() => {
          list.settle();
        }}
        className="min-h-0 flex-1 overflow-auto -outline-offset-2"
      >
        <div role="table" aria-label="Tasks" aria-rowcount={shown.hasMore ? -1 : shown.rows + 1} className="min-w-0">
          <Head {...props} isTight={isTight} />
          <div role="rowgroup" className="relative" style={{ height: lines.getTotalSize() }}>
            {inSight.map(({ index, start, key }) => {
              const row = list.rowAt(index);
              if (row === undefined) return <Missing key={key} top={start} height={rowPx} />;
              return (
                <TaskRow
                  key={key}
                  row={row}
                  index={index}
                  top={start}
                  height={rowPx}
                  isTight={isTight}
                  mayHaveRun={mayHaveRun}
                  isSelected={selected.has(row.id)}
                  isAtCursor={row.id === cursor.id}
                  owner={props.ownerOf(row)}
                  daemon={props.daemonOf(row)}
                  asksWhy={!isBusy}
                  onPress={onOpen}
                  onToggle={onToggle}
                  onDo={onDo}
                />
              );
            })}
          </div>
        </div>
        {props.footer}
      </div>
    </div>
  );
}

function Head({ shown, mayHaveRun, selected, onToggleAll, isTight }: Props & { isTight: boolean }) {
  return (
    <div role="rowgroup" className={cx("sticky top-0 z-10 border-b border-line bg-surface text-ink-2", isTight && "sr-only")}>
      <div role="row" aria-rowindex={1} className={cx(gridOf(mayHaveRun), "h-8 text-xs font-medium")}>
        <div role="columnheader">
          <input
            type="checkbox"
            aria-label="Select all that match"
            checked={shown.rows > 0 && selected.size >= shown.rows}
            onChange={onToggleAll}
            className="block size-4 accent-accent"
          />
        </div>
        {HEADS.filter(({ isOfRuns = false }) => mayHaveRun || !isOfRuns).map(({ label, look }) => (
          <div key={label} role="columnheader" className={look}>
            {label}
          </div>
        ))}
        <div role="columnheader">
          <span className="sr-only">Actions</span>
        </div>
      </div>
    </div>
  );
}

function FreshPill({ fresh, onPress }: { fresh: number; onPress: () => void }) {
  return (
    <div className="pointer-events-none absolute inset-x-0 top-10 z-20 flex justify-center">
      <button
        type="button"
        onClick={onPress}
        className="pointer-events-auto inline-flex h-7 items-center gap-1 rounded-full border border-line-strong bg-surface px-3 font-medium text-accent shadow-overlay hover:bg-accent-soft [&_svg]:size-3.5"
      >
        <ArrowUp aria-hidden />
        {fresh >= FRESH_MAX ? `${String(FRESH_MAX)} or more` : count(fresh)} new
      </button>
    </div>
  );
}

/** A page that was let go and is on its way again. */
function Missing({ top, height }: { top: number; height: number }) {
  return (
    <div
      aria-hidden
      className="absolute inset-x-0 flex items-center gap-6 border-b border-line px-4"
      style={{ height, transform: `translateY(${String(top)}px)` }}
    >
      <Skeleton className="h-3 w-2/5" />
      <Skeleton className="h-3 w-24" />
    </div>
  );
}

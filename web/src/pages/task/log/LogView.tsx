import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDownToLine, ChevronDown, ChevronUp, WrapText } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { useShortcut } from "~/keyboard/shortcuts";
import { cx } from "~/lib/classes";
import { counted } from "~/lib/format";
import { useIsNarrow } from "~/lib/narrow";
import { Button } from "~/ui/Button";
import { CONTROL } from "~/ui/Field";
import { IconButton } from "~/ui/IconButton";

import { found, type Line } from "./lines";
import { LogLine } from "./LogLine";

interface Props {
  lines: readonly Line[];
  /** No more lines will come. */
  isOver: boolean;
  chooser: ReactNode;
  /** Said above the first line. */
  before: string | false;
}

const LINE_PX = 20;
const OVERSCAN_LINES = 10;
/** So near its end, a log counts as being read there. */
const END_PX = 24;

/** Any number of lines, of which only those in sight are in the page; it follows the newest until somebody scrolls away. */
export function LogView(props: Props) {
  if (props.lines.length > 0) return <Lines {...props} />;
  return (
    <>
      {props.chooser !== false && <div className="flex border-b border-line px-3 py-2">{props.chooser}</div>}
      <p className="px-4 py-6 text-ink-2">
        {props.isOver ? "This attempt wrote nothing." : "Nothing yet. What it writes appears here at once."}
      </p>
    </>
  );
}

function Lines({ lines, isOver, chooser, before }: Props) {
  const isNarrow = useIsNarrow();
  const [wraps, setWraps] = useState(isNarrow);
  const [follows, setFollows] = useState(true);
  const area = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => area.current,
    estimateSize: () => LINE_PX,
    overscan: OVERSCAN_LINES,
  });
  const find = useFind(lines, (index) => {
    setFollows(false);
    rows.scrollToIndex(index, { align: "center" });
  });
  useShortcut("f", "Follow the log", () => {
    setFollows((before) => !before);
  });

  useEffect(() => {
    if (follows) rows.scrollToIndex(lines.length - 1, { align: "end" });
  }, [follows, lines, rows, wraps]);
  useEffect(() => {
    rows.measure();
  }, [rows, wraps]);

  function onScroll() {
    const shown = area.current;
    if (shown === null || !follows) return;
    // Only a person scrolls up; following scrolls down.
    if (shown.scrollHeight - shown.scrollTop - shown.clientHeight > END_PX + shown.clientHeight) setFollows(false);
  }

  return (
    <div className="flex flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-2">
        {chooser}
        <FindField find={find} />
        <span className="ml-auto text-ink-3">{counted(lines.length, "line")}</span>
        <IconButton
          label="Wrap long lines"
          aria-pressed={wraps}
          className={wraps ? "bg-sunken text-ink" : ""}
          onClick={() => {
            setWraps(!wraps);
          }}
        >
          <WrapText />
        </IconButton>
        <Button
          icon={<ArrowDownToLine aria-hidden />}
          aria-pressed={follows}
          className={follows ? "border-accent text-accent" : ""}
          onClick={() => {
            setFollows(!follows);
          }}
        >
          {follows && !isOver ? "Following" : "To the end"}
        </Button>
      </div>
      {before !== false && <p className="border-b border-line bg-attention-soft px-4 py-1.5 text-attention">{before}</p>}
      <div
        ref={area}
        role="log"
        aria-live="off"
        tabIndex={0}
        aria-label="Log"
        onScroll={onScroll}
        onWheel={(event) => {
          if (event.deltaY < 0) setFollows(false);
        }}
        className="max-h-[min(28rem,70dvh)] min-h-24 overflow-auto bg-sunken py-1 font-mono text-xs -outline-offset-2"
      >
        <div className={cx("relative", !wraps && "w-max min-w-full")} style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const line = lines[row.index];
            return line === undefined ? null : (
              <div
                key={row.key}
                data-index={row.index}
                ref={wraps ? rows.measureElement : undefined}
                className="absolute top-0 left-0 min-w-full"
                style={{ transform: `translateY(${String(row.start)}px)`, ...(wraps ? { width: "100%" } : {}) }}
              >
                <LogLine line={line} words={find.words} isCurrent={find.current === row.index} wraps={wraps} />
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface Find {
  words: string;
  setWords: (words: string) => void;
  hits: readonly number[];
  at: number;
  current: number | undefined;
  step: (by: number) => void;
}

function useFind(lines: readonly Line[], show: (line: number) => void): Find {
  const [words, say] = useState("");
  const [at, setAt] = useState(0);
  const hits = useMemo(() => found(lines, words), [lines, words]);
  const current = hits.length === 0 ? undefined : hits[Math.min(at, hits.length - 1)];

  function setWords(next: string) {
    say(next);
    setAt(0);
    const first = found(lines, next)[0];
    if (first !== undefined) show(first);
  }

  function step(by: number) {
    if (hits.length === 0) return;
    const next = (at + by + hits.length) % hits.length;
    setAt(next);
    show(hits[next] ?? 0);
  }

  return { words, setWords, hits, at, current, step };
}

function FindField({ find }: { find: Find }) {
  const field = useRef<HTMLInputElement>(null);
  useShortcut("/", "Find in the log", () => field.current?.focus());
  return (
    <div className="flex min-w-40 flex-1 items-center gap-1 sm:max-w-96">
      <input
        ref={field}
        type="search"
        aria-label="Find in the log"
        placeholder="Find in the log"
        value={find.words}
        onChange={(event) => {
          find.setWords(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") find.step(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") field.current?.blur();
        }}
        className={cx(CONTROL, "h-8")}
      />
      {find.words !== "" && (
        <>
          <span role="status" className="px-1 whitespace-nowrap text-ink-3">
            {find.hits.length === 0 ? "none" : `${String(find.at + 1)} of ${String(find.hits.length)}`}
          </span>
          <IconButton
            label="Found before"
            onClick={() => {
              find.step(-1);
            }}
          >
            <ChevronUp />
          </IconButton>
          <IconButton
            label="Found next"
            onClick={() => {
              find.step(1);
            }}
          >
            <ChevronDown />
          </IconButton>
        </>
      )}
    </div>
  );
}

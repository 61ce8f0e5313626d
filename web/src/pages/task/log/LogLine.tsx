import { memo } from "react";

import { cx } from "~/lib/classes";
import { exact, instant } from "~/lib/format";
import { useZone } from "~/lib/preferences";

import { type Line, marked } from "./lines";

interface Props {
  line: Line;
  words: string;
  isCurrent: boolean;
  wraps: boolean;
}

export const LogLine = memo(function LogLine({ line, words, isCurrent, wraps }: Props) {
  const zone = useZone();
  const at = instant(line.at) ?? 0;
  return (
    <div className={cx("flex gap-4 px-4 leading-5", isCurrent && "bg-accent-soft", line.isGap && "text-attention italic")}>
      <span title={exact(at, zone)} className="shrink-0 text-ink-3 select-none max-sm:hidden">
        {secondOf(at, zone)}
      </span>
      <span className={cx("min-w-0 flex-1", wraps ? "break-all whitespace-pre-wrap" : "whitespace-pre")}>
        {marked(line.text, words).map((piece, index) =>
          piece.isFound ? (
            <mark key={index} className="rounded-sm bg-attention-dot/40 text-ink">
              {piece.text}
            </mark>
          ) : (
            piece.text
          ),
        )}
      </span>
    </div>
  );
});

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Thousands of lines ask for it while somebody scrolls, so a zone's clock is made once. */
function secondOf(at: number, zone: string): string {
  let made = clocks.get(zone);
  if (made === undefined) {
    made = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeStyle: "medium" });
    clocks.set(zone, made);
  }
  return made.format(at);
}

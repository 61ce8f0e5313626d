import type { Level } from "~/api/client";
import { cx } from "~/lib/classes";
import { LEVEL, LEVELS } from "~/words";

import { TEXTS } from "./Badge";

/** Bars and a word: the more bars, the sooner. */
export function LevelBadge({ level }: { level: Level }) {
  const { label, tone } = LEVEL[level];
  const filled = LEVELS.length - LEVELS.indexOf(level);
  return (
    <span className={cx("inline-flex items-center gap-1.5 align-middle whitespace-nowrap", TEXTS[tone])}>
      <svg aria-hidden viewBox="0 0 14 12" className="h-3 w-3.5 shrink-0" fill="currentColor">
        {LEVELS.map((_, index) => (
          <rect
            key={index}
            x={index * 3.6}
            y={9 - index * 3}
            width="2.4"
            height={3 + index * 3}
            rx="0.6"
            opacity={index < filled ? 1 : 0.25}
          />
        ))}
      </svg>
      {label}
    </span>
  );
}

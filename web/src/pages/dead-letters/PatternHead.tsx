import { ChevronRight } from "lucide-react";

import type { Schemas } from "~/api/client";
import { cx } from "~/lib/classes";
import { count, counted } from "~/lib/format";
import { RelativeTime } from "~/ui/RelativeTime";

export type FailurePattern = Schemas["PatternAnswer"];

interface Props {
  pattern: FailurePattern;
  isOpen: boolean;
  isAtCursor: boolean;
  onPress: () => void;
}

export const NO_MESSAGE = "They left no message";

/** One way in which tasks fail: how it reads, how often, since when. */
export function PatternHead({ pattern, isOpen, isAtCursor, onPress }: Props) {
  const { code, type, same_daemon: daemon } = pattern;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      aria-controls={`letters-${pattern.fingerprint}`}
      data-cursor={isAtCursor || undefined}
      onClick={onPress}
      className="flex w-full items-center gap-3 px-4 py-3 text-left -outline-offset-2 hover:bg-page data-cursor:shadow-[inset_2px_0_var(--color-accent)]"
    >
      <ChevronRight aria-hidden className={cx("size-4 shrink-0 text-ink-3", isOpen && "rotate-90")} />
      <span className="min-w-0 flex-1">
        <span className={cx("block font-medium", isOpen ? "line-clamp-4" : "truncate")}>
          {(pattern.sample_message ?? "") === "" ? NO_MESSAGE : pattern.sample_message}
        </span>
        <span className="mt-0.5 flex flex-wrap items-center gap-x-2 text-xs text-ink-3">
          {code != null && <span className="font-mono">{code}</span>}
          <span>{type == null ? "several types" : `type ${type}`}</span>
          {daemon != null && pattern.count > 1 && <span className="text-attention">all on {daemon}</span>}
          <span className="md:hidden">
            <Times pattern={pattern} />
          </span>
        </span>
      </span>
      <span className="shrink-0 text-right text-xs text-ink-3 max-md:hidden">
        <Times pattern={pattern} />
      </span>
      <span className="w-14 shrink-0 text-right" aria-label={counted(pattern.count, "task")} role="img">
        <span className="text-lg font-semibold text-failed">{count(pattern.count)}</span>
      </span>
    </button>
  );
}

function Times({ pattern }: { pattern: FailurePattern }) {
  if (pattern.count === 1) return <RelativeTime at={pattern.last_at} />;
  return (
    <>
      last <RelativeTime at={pattern.last_at} />, first <RelativeTime at={pattern.first_at} />
    </>
  );
}

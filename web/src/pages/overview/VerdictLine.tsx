import { Skeleton } from "~/ui/Skeleton";
import { ErrorState } from "~/ui/ErrorState";
import { DOTS, TEXTS } from "~/ui/Badge";
import { cx } from "~/lib/classes";

import type { Known } from "./useFacts";
import { verdictOf } from "./verdict";

/** The first thing to read: is the yard well? */
export function VerdictLine({ known }: { known: Known }) {
  if (known.facts === null) {
    return known.error === null ? <Skeleton className="mb-6 h-8 w-full max-w-xl" /> : <ErrorState error={known.error} />;
  }
  const { tone, head, says } = verdictOf(known.facts);
  return (
    <p role="status" data-testid="verdict" className="mb-6 max-w-4xl text-xl leading-snug font-normal text-ink-2">
      <span aria-hidden className={cx("mr-3 mb-0.5 inline-block size-3 rounded-full", DOTS[tone])} />
      <strong className={cx("font-semibold", tone === "well" ? "text-ink" : TEXTS[tone])}>{head}.</strong> {says}
    </p>
  );
}

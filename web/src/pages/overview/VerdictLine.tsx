import { useConnection } from "~/live/useLive";
import { Skeleton } from "~/ui/Skeleton";
import { ErrorState } from "~/ui/ErrorState";
import { DOTS, TEXTS } from "~/ui/Badge";
import { cx } from "~/lib/classes";

import type { Need } from "./needs";
import type { Known } from "./useFacts";
import { type Verdict, verdictOf } from "./verdict";

/** The first thing to read: is the yard well? */
export function VerdictLine({ known, needs }: { known: Known; needs: readonly Need[] | null }) {
  const isLost = useConnection() === "lost";
  if (known.facts === null || needs === null) {
    return known.error === null ? <Skeleton className="mb-6 h-8 w-full max-w-xl" /> : <ErrorState error={known.error} />;
  }
  const verdict = verdictOf({ ...known.facts, needs: needs.length });
  return <Said verdict={isLost ? unknown(verdict) : verdict} />;
}

function Said({ verdict: { tone, head, says } }: { verdict: Verdict }) {
  return (
    <p role="status" data-testid="verdict" className="mb-6 max-w-4xl text-xl leading-snug font-normal text-ink-2">
      <span aria-hidden className={cx("mr-3 mb-0.5 inline-block size-3 rounded-full", DOTS[tone])} />
      <strong className={cx("font-semibold", tone === "well" || tone === "neutral" ? "text-ink" : TEXTS[tone])}>{head}.</strong> {says}
    </p>
  );
}

/** Old news are told as such. */
function unknown({ head, says }: Verdict): Verdict {
  return { tone: "neutral", head: "Not known", says: `The hub does not answer. The last that was heard: ${head.toLowerCase()}. ${says}` };
}

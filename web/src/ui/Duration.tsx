import { duration, instant } from "~/lib/format";
import { useNow } from "~/lib/now";

/** A known length of time. */
function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms == null) return <span className="text-ink-3">–</span>;
  return <span className="whitespace-nowrap">{duration(ms)}</span>;
}

/** Times are told to the millisecond: what began and ended in the same one still took some time. */
const UNDER_A_MS = 0.5;

/** From one time to another; while there is no end it counts. */
export function Elapsed({ from, to }: { from: string | null | undefined; to?: string | null | undefined }) {
  const [start, end] = [instant(from), instant(to)];
  if (start === null) return <Duration ms={null} />;
  return end === null ? <Counting start={start} /> : <Duration ms={Math.max(UNDER_A_MS, end - start)} />;
}

function Counting({ start }: { start: number }) {
  const now = useNow();
  return <Duration ms={Math.max(0, Math.floor((now - start) / 1000) * 1000)} />;
}

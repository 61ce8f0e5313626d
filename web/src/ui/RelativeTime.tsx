import { clockInZone, exact, instant, relative } from "~/lib/format";
import { useSaidNow } from "~/lib/now";
import { useZone } from "~/lib/preferences";

interface Props {
  at: string | null | undefined;
  /** What stands there when there is no time. */
  none?: string;
}

/** "3 min ago", and to the second in the chosen zone for whoever points at it. */
export function RelativeTime({ at, none = "–" }: Props) {
  const ms = instant(at);
  return ms === null ? <span className="text-ink-3">{none}</span> : <Ticking ms={ms} />;
}

function Ticking({ ms }: { ms: number }) {
  const zone = useZone();
  const said = useSaidNow((now) => relative(ms, now));
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms, zone)} className="whitespace-nowrap">
      {said}
    </time>
  );
}

/** Within a sentence: what a clock of the chosen zone shows then. */
export function ClockTime({ ms }: { ms: number }) {
  const zone = useZone();
  const said = useSaidNow((now) => clockInZone(ms, now, zone));
  return (
    <time dateTime={new Date(ms).toISOString()} title={exact(ms, zone)}>
      {said}
    </time>
  );
}

/** The exact time itself, where the place is for it. */
export function ExactTime({ at, none = "–" }: Props) {
  const zone = useZone();
  const ms = instant(at);
  if (ms === null) return <span className="text-ink-3">{none}</span>;
  return <time dateTime={new Date(ms).toISOString()}>{exact(ms, zone)}</time>;
}

/** Numbers, times and durations as words. Everything that is shown twice is written here once. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const plain = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function count(value: number): string {
  return plain.format(value);
}

/** "3 tasks", "1 task". */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** For narrow places: 12.4K. */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? plain.format(Math.round(value * 10) / 10) : compact.format(value);
}

export function percent(part: number): string {
  return `${String(Math.round(part * 100))} %`;
}

/** Two units at most: "820 ms", "4.2 s", "3 min 12 s", "2 h 5 min", "3 d 4 h". */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  const span = Math.abs(ms);
  if (span === 0) return "0 s";
  if (span < 1) return "< 1 ms";
  if (span < SECOND) return `${String(Math.round(span))} ms`;
  if (span < 10 * SECOND) return `${String(Math.round(span / 100) / 10)} s`;
  if (span < MINUTE) return `${String(Math.round(span / SECOND))} s`;
  if (span < HOUR) return two(span, MINUTE, "min", SECOND, "s");
  if (span < DAY) return two(span, HOUR, "h", MINUTE, "min");
  return two(span, DAY, "d", HOUR, "h");
}

function two(span: number, big: number, bigName: string, small: number, smallName: string): string {
  const rounded = Math.round(span / small) * small;
  const whole = Math.floor(rounded / big);
  const rest = Math.round((rounded % big) / small);
  return rest === 0 ? `${String(whole)} ${bigName}` : `${String(whole)} ${bigName} ${String(rest)} ${smallName}`;
}

/** One unit: "just now", "12 s ago", "in 5 min", "3 h ago", "2 d ago"; beyond a month the date says more. */
export function relative(at: number, now: number): string {
  const span = Math.abs(now - at);
  if (span < 2 * SECOND) return "just now";
  const said =
    span < MINUTE
      ? `${String(Math.floor(span / SECOND))} s`
      : span < HOUR
        ? `${String(Math.floor(span / MINUTE))} min`
        : span < DAY
          ? `${String(Math.floor(span / HOUR))} h`
          : `${String(Math.floor(span / DAY))} d`;
  return at > now ? `in ${said}` : `${said} ago`;
}

const EXACT: Intl.DateTimeFormatOptions = {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
};
const formats = new Map<string, Intl.DateTimeFormat>();

/** Made once for each zone: making one takes a hundred times as long as using it. */
function formatOf(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
  formats.set(key, known);
  return known;
}

/** To the second, with the zone's name: for titles and details. */
export function exact(at: number, zone: string): string {
  return formatOf(zone, EXACT).format(at);
}

/** "14:03", or "Mon 14:03" when it is not of today. */
export function clock(at: number, zone: string, { withDay = false } = {}): string {
  return formatOf(zone, {
    hour: "2-digit",
    minute: "2-digit",
    ...(withDay ? { weekday: "short" } : {}),
  }).format(at);
}

/** "14:03:12 CET", or "2026-12-01 01:00 CET" when it is of another day: in a sentence, where it must be clear which clock is meant. */
export function clockInZone(at: number, now: number, zone: string): string {
  const day = formatOf(zone, { year: "numeric", month: "2-digit", day: "2-digit" });
  const isToday = day.format(at) === day.format(now);
  const time = formatOf(zone, {
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    ...(isToday ? { second: "2-digit" } : {}),
  }).format(at);
  return isToday ? time : `${day.format(at).split("/").reverse().join("-")} ${time}`;
}

export function instant(said: string | null | undefined): number | null {
  if (said == null) return null;
  const at = Date.parse(said);
  return Number.isNaN(at) ? null : at;
}

export function capitalised(word: string): string {
  const spaced = word.replaceAll("_", " ");
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** Between an instant and what a clock in some zone shows: browsers' own fields know only the browser's zone. */

const MINUTE_MS = 60_000;

/** "2026-03-01T09:30", as `datetime-local` fields have it. */
export function toField(at: number, zone: string): string {
  return new Date(at + offsetMs(at, zone)).toISOString().slice(0, 16);
}

/** Null: nothing that a calendar has. Of a time that clocks show twice, the first; of one that they skip, what follows it. */
export function fromField(text: string, zone: string): number | null {
  const shown = Date.parse(`${text}Z`);
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) || Number.isNaN(shown)) return null;
  const day = 24 * 60 * MINUTE_MS;
  const offsets = [offsetMs(shown - day, zone), offsetMs(shown + day, zone)];
  const fits = offsets.map((offset) => shown - offset).filter((at) => at + offsetMs(at, zone) === shown);
  return fits.length > 0 ? Math.min(...fits) : shown - (offsets[0] ?? 0);
}

/** How far its clocks are ahead of UTC at that instant. */
export function offsetMs(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find((one) => one.type === type)?.value);
  const shown = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return shown - Math.floor(at / 1000) * 1000;
}

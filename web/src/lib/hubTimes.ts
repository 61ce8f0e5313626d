/** Times as the hub writes them into its sentences: in UTC, since programs read them too. */

import { clockInZone } from "./format";

/** As a piece of a pattern: "05:19:29 UTC" is of today, "2026-11-16 05:19 UTC" of that day, also with "at" between. */
export const HUB_TIME = String.raw`(?:\b\d{4}-\d{2}-\d{2} (?:at )?\d{2}:\d{2}|\b\d{2}:\d{2}:\d{2}) UTC\b`;

const PARTS = /^(?:(\d{4}-\d{2}-\d{2}) (?:at )?)?(\d{2}:\d{2}(?::\d{2})?) UTC$/;

/** The moment that is meant; null where the text is none. */
export function hubTime(text: string, now: number): number | null {
  const [, day, clock] = PARTS.exec(text) ?? [];
  if (clock === undefined) return null;
  const at = Date.parse(`${day ?? new Date(now).toISOString().slice(0, 10)}T${clock}Z`);
  return Number.isNaN(at) ? null : at;
}

const HUB_TIMES = new RegExp(HUB_TIME, "g");

/** A sentence of the hub's where there is room for letters only, as in a title: with the reader's times and no marks. */
export function plainSentence(text: string, now: number, zone: string): string {
  const inZone = (said: string) => {
    const ms = hubTime(said, now);
    return ms === null ? said : clockInZone(ms, now, zone);
  };
  return text.replace(HUB_TIMES, inZone).replaceAll("`", "");
}

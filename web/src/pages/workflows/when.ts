/** When a schedule runs, in plain words. */

import { counted } from "~/lib/format";

export const UNITS = { s: "second", m: "minute", h: "hour", d: "day", w: "week" } as const;
export type Unit = keyof typeof UNITS;

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];
const TIMES_MAX = 4;

interface Goes {
  cron: string | null;
  every: string | null;
}

/** The expression itself where words would be longer, or wrong. */
export function whenOf({ cron, every }: Goes): string {
  if (every !== null) return intervalWords(every);
  return cron === null ? "" : (cronWords(cron) ?? cron);
}

export function splitEvery(every: string): { amount: string; unit: Unit } | null {
  const [, amount, unit] = /^(?:every\s+)?(\d+)\s*([smhdw])$/i.exec(every.trim()) ?? [];
  return amount === undefined || unit === undefined ? null : { amount, unit: unit.toLowerCase() as Unit };
}

function intervalWords(every: string): string {
  const split = splitEvery(every);
  if (split === null) return every;
  const amount = Number(split.amount);
  return amount === 1 ? `Every ${UNITS[split.unit]}` : `Every ${counted(amount, UNITS[split.unit])}`;
}

/** Null: one that has more in it than a short sentence can say. */
export function cronWords(cron: string): string | null {
  const fields = cron.trim().toLowerCase().split(/\s+/);
  const [minute, hour, day, month, weekday] = fields;
  if (fields.length !== 5 || minute === undefined || hour === undefined) return null;
  if (day === undefined || month === undefined || weekday === undefined) return null;
  const times = timesOf(minute, hour);
  const days = daysOf(day, month, weekday);
  if (times === null || days === null) return null;
  if (times.isOfDay) return capital(`${days === "" ? "every day" : days} ${times.words}`);
  return capital(days === "" ? times.words : `${times.words}, ${days}`);
}

interface Times {
  words: string;
  /** Named times of a day, rather than a rhythm. */
  isOfDay: boolean;
}

function timesOf(minute: string, hour: string): Times | null {
  const minutes = numbers(minute, 0, 59);
  const hours = numbers(hour, 0, 23);
  if (minutes !== null && hours !== null) {
    if (minutes.length * hours.length > TIMES_MAX) return null;
    const said = hours.flatMap((one) => minutes.map((other) => clockOf(one, other)));
    return { words: `at ${joined(said)}`, isOfDay: true };
  }
  const rhythm = rhythmOf(minute, minutes, hour);
  if (rhythm !== null) return { words: rhythm, isOfDay: false };
  const span = range(hour, 0, 23);
  if (span === null) return null;
  const within = rhythmOf(minute, minutes, "*");
  return within === null ? null : { words: `${within} from ${clockOf(span[0], 0)} to ${clockOf(span[1], 59)}`, isOfDay: false };
}

function rhythmOf(minute: string, minutes: number[] | null, hour: string): string | null {
  const each = hour === "*" ? 1 : step(hour, 24);
  if (minutes !== null && minutes.length === 1 && each !== null) {
    const past = minutes[0] === 0 ? "" : `, ${counted(minutes[0] ?? 0, "minute")} past`;
    return `every ${each === 1 ? "hour" : `${String(each)} hours`}${past}`;
  }
  if (hour !== "*") return null;
  if (minute === "*") return "every minute";
  const steps = step(minute, 60);
  return steps === null ? null : steps === 1 ? "every minute" : `every ${String(steps)} minutes`;
}

/** "": every day. */
function daysOf(day: string, month: string, weekday: string): string | null {
  const inMonths = monthsOf(month);
  if (inMonths === null) return null;
  if (day === "*" && weekday === "*") return inMonths === "" ? "" : `every day in ${inMonths}`;
  if (day === "*") {
    const said = weekdaysOf(weekday);
    return said === null ? null : `${said}${inMonths === "" ? "" : ` in ${inMonths}`}`;
  }
  // With both, cron means either: a sentence that sounds like both would be wrong.
  if (weekday !== "*") return null;
  const dates = day === "l" ? "last day" : numbers(day, 1, 31)?.map(ordinal);
  if (dates === undefined) return null;
  return `on the ${typeof dates === "string" ? dates : joined(dates)} of ${inMonths === "" ? "every month" : inMonths}`;
}

function weekdaysOf(field: string): string | null {
  const plain = named(field, DAYS);
  const span = range(plain, 0, 7);
  if (span !== null) return `${nameOf(DAYS, span[0])} to ${nameOf(DAYS, span[1] % 7)}`;
  const days = numbers(plain, 0, 7);
  return days === null ? null : `every ${joined(days.map((one) => nameOf(DAYS, one % 7)))}`;
}

/** "": every month. */
function monthsOf(field: string): string | null {
  if (field === "*") return "";
  const plain = named(field, MONTHS, 1);
  const span = range(plain, 1, 12);
  if (span !== null) return `${nameOf(MONTHS, span[0] - 1)} to ${nameOf(MONTHS, span[1] - 1)}`;
  const months = numbers(plain, 1, 12);
  return months === null ? null : joined(months.map((one) => nameOf(MONTHS, one - 1)));
}

/** Names of three letters as the numbers that they stand for. */
function named(field: string, names: readonly string[], first = 0): string {
  return names.reduce((said, name, at) => said.replaceAll(name.slice(0, 3).toLowerCase(), String(at + first)), field);
}

function numbers(field: string, low: number, high: number): number[] | null {
  const found = field.split(",").map((one) => (/^\d{1,2}$/.test(one) ? Number(one) : Number.NaN));
  return found.every((one) => one >= low && one <= high) ? found : null;
}

function range(field: string, low: number, high: number): [number, number] | null {
  const [, from, to] = /^(\d{1,2})-(\d{1,2})$/.exec(field) ?? [];
  const [first, last] = [Number(from), Number(to)];
  return first >= low && last <= high && first < last ? [first, last] : null;
}

/** Null also where steps do not divide the whole: cron begins anew at its end, and the last step is shorter. */
function step(field: string, whole: number): number | null {
  const [, every] = /^\*\/(\d{1,2})$/.exec(field) ?? [];
  return every === undefined || whole % Number(every) !== 0 ? null : Number(every);
}

function clockOf(hour: number, minute: number): string {
  return `${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}`;
}

function ordinal(value: number): string {
  const teens = value > 10 && value < 14;
  const ending = teens ? "th" : ({ 1: "st", 2: "nd", 3: "rd" }[value % 10] ?? "th");
  return `${String(value)}${ending}`;
}

function nameOf(names: readonly string[], at: number): string {
  return names[at] ?? "";
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * A list of any length: pages behind cursors, of which only those around what is in sight are kept.
 *
 * Rows are changed in place by events. What comes in or falls out is put right only while the list is at rest, so that
 * nothing moves under a pointer; until then it is counted, and what fell out stays where it was.
 */

import type { Page, Status, Task } from "~/api/client";
import type { Batch } from "~/live/batches";
import type { LiveEvent } from "~/live/stream";

import { patched, type Row, rowOf } from "./rows";

export const KEPT_PAGES_MAX = 12;
/** Pages in sight that events have touched are looked at again, at most so often. */
export const REFRESH_MS = 1_000;
/** A search looks at the yard piece by piece; so many pieces are asked for before it waits for a person. */
const PIECES_MAX = 20;
const ROWS_WANTED = 30;

interface Slot {
  /** Where it begins, as the hub says it: nothing to be read here. */
  cursor: string | null;
  /** Where it ended when it was first fetched: what is older belongs to the next one. */
  last: Row | undefined;
  rows: Row[] | null;
  /** How many rows it has, also while they are not kept. */
  size: number;
  isDirty: boolean;
}

export interface ListParts {
  fetch: (cursor: string | null) => Promise<Page<Task>>;
  /** Those that are listed; none: all. */
  statuses: readonly Status[];
  /** Whether rows may come and go: at the top, with neither pointer nor focus within. */
  isAtRest: () => boolean;
  /** Whether one row is listed below another. */
  isBelow: (row: Row, other: Row) => boolean;
}

export interface Snapshot {
  rows: number;
  isLoading: boolean;
  hasMore: boolean;
  error: unknown;
  /** Listed now, and not shown yet. */
  fresh: number;
}

export class TaskList {
  #parts: ListParts;
  #slots: Slot[] = [];
  #next: string | null = null;
  #pageOf = new Map<string, Slot>();
  #sight: [number, number] = [0, 0];
  #isLoading = false;
  #isRefreshing = false;
  /** Something happened since the first page was last asked for from the top. */
  #isTouched = false;
  #error: unknown = null;
  #fresh = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #refreshedAt = -Infinity;
  /** Counts up whenever everything begins anew: an answer from before is of no use then. */
  #life = 0;
  #listeners = new Set<() => void>();
  #snapshot: Snapshot = { rows: 0, isLoading: true, hasMore: false, error: null, fresh: 0 };

  constructor(parts: ListParts) {
    this.#parts = parts;
  }

  subscribe = (told: () => void): (() => void) => {
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  };

  snapshot = (): Snapshot => this.#snapshot;

  /** Shown again, as it was when it was left: what is in sight is looked at again. */
  resume(isAtRest: () => boolean): void {
    this.#parts = { ...this.#parts, isAtRest };
    this.#isLoading = this.#isRefreshing = false;
    if (this.#slots.length === 0) void this.restart();
    else this.take({ events: [], hasGap: true });
  }

  stop(): void {
    this.#life += 1;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  rowAt(index: number): Row | undefined {
    let start = 0;
    for (const slot of this.#slots) {
      if (index < start + slot.size) return slot.rows?.[index - start];
      start += slot.size;
    }
    return undefined;
  }

  /** What is kept, in order. */
  kept(): Row[] {
    return this.#slots.flatMap((slot) => slot.rows ?? []);
  }

  indexOf(id: string): number {
    const slot = this.#pageOf.get(id);
    if (slot === undefined) return -1;
    return this.#startOf(slot) + (slot.rows ?? []).findIndex((row) => row.id === id);
  }

  /** From the top, as it is now. */
  async restart(): Promise<void> {
    this.stop();
    const life = this.#life;
    this.#isLoading = true;
    this.#error = null;
    this.#isTouched = false;
    this.#tell();
    try {
      const first = await this.#parts.fetch(null);
      if (life !== this.#life) return;
      this.#replace(first);
      // The answer may be from before that.
      for (const slot of this.#slots) slot.isDirty = this.#isTouched;
      await this.#goOn(life, this.#slots[0]?.size ?? 0);
    } catch (thrown) {
      if (life === this.#life) this.#error = thrown;
    }
    if (life !== this.#life) return;
    this.#isLoading = false;
    this.#tell();
    if (this.#isWanting()) this.#soon();
  }

  /** The next page, when the end comes near. */
  async more(): Promise<void> {
    if (this.#isLoading || this.#next === null) return;
    const life = this.#life;
    this.#isLoading = true;
    this.#error = null;
    this.#tell();
    try {
      await this.#goOn(life, 0);
    } catch (thrown) {
      if (life === this.#life) this.#error = thrown;
    }
    if (life !== this.#life) return;
    this.#isLoading = false;
    this.#tell();
  }

  /** Which rows are in sight: their pages are there, and those far away are let go. */
  show(first: number, last: number): void {
    this.#sight = [first, last];
    this.#letGo(this.#seen());
    if (this.#isWanting()) this.#soon();
  }

  take(batch: Batch): void {
    this.#isTouched = true;
    if (batch.hasGap) {
      for (const slot of this.#slots) slot.isDirty = true;
      if (this.#slots.length === 0 && !this.#isLoading) void this.restart();
    }
    let isChanged = false;
    for (const event of batch.events) isChanged = this.#hear(event) || isChanged;
    if (isChanged) this.#tell();
    if (this.#isWanting()) this.#soon();
  }

  /** The pointer has left: what was held back can be put right. */
  settle(): void {
    const head = this.#slots[0];
    if (head === undefined || !this.#parts.isAtRest()) return;
    if (this.#fresh === 0 && head.rows?.some((row) => row.isGone) !== true) return;
    head.isDirty = true;
    this.#soon();
  }

  #hear(event: LiveEvent): boolean {
    if (event.task_id == null) return false;
    const slot = this.#pageOf.get(event.task_id);
    const at = slot?.rows?.findIndex((row) => row.id === event.task_id) ?? -1;
    const row = slot?.rows?.[at];
    const [head] = this.#slots;
    if (slot?.rows == null || row === undefined) {
      if (head !== undefined && this.#comesIn(event)) head.isDirty = true;
      return false;
    }
    const next = patched(row, event, this.#parts.statuses);
    if (event.event !== "task.progress" && event.event !== "task.log") slot.isDirty = true;
    if (next === row) return false;
    slot.rows = slot.rows.with(at, next);
    return true;
  }

  #comesIn({ event, from, to }: LiveEvent): boolean {
    const { statuses } = this.#parts;
    if (to == null) return false;
    if (statuses.length === 0) return event === "task.created" || event === "task.imported";
    return statuses.includes(to) && (from == null || !statuses.includes(from));
  }

  #soon(): void {
    if (this.#isRefreshing) return;
    const isMissing = this.#seen().some((slot) => slot.rows === null);
    const waitMs = isMissing ? 0 : Math.max(0, this.#refreshedAt + REFRESH_MS - Date.now());
    if (isMissing) clearTimeout(this.#timer);
    else if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#refresh();
    }, waitMs);
  }

  #isWanting(): boolean {
    return this.#slots[0]?.isDirty === true || this.#seen().some((slot) => slot.isDirty || slot.rows === null);
  }

  async #refresh(): Promise<void> {
    const life = this.#life;
    this.#isRefreshing = true;
    this.#refreshedAt = Date.now();
    const [head] = this.#slots;
    const wanted = new Set(this.#seen().filter((slot) => slot.isDirty || slot.rows === null));
    if (head?.isDirty === true) wanted.add(head);
    let hasFailed = false;
    try {
      for (const slot of wanted) {
        slot.isDirty = false;
        const found = await this.#parts.fetch(slot.cursor);
        if (life !== this.#life) break;
        this.#merge(slot, found);
        this.#tell();
      }
    } catch {
      // The hub is away or busy, which the page's head says; the next event or the reconnect looks again.
      hasFailed = true;
      for (const slot of wanted) slot.isDirty = true;
    }
    this.#isRefreshing = false;
    // What was touched while this was under way.
    if (life === this.#life && !hasFailed && this.#isWanting()) this.#soon();
  }

  #merge(slot: Slot, found: Page<Task>): void {
    const fresh = found.rows.map(rowOf);
    if (slot === this.#slots[0] && this.#parts.isAtRest()) {
      this.#settleHead(slot, fresh, found);
      return;
    }
    const end = slot === this.#slots.at(-1) && this.#next === null ? undefined : slot.last;
    const inside = fresh.filter((row) => end === undefined || !this.#parts.isBelow(row, end));
    if (slot.rows === null) {
      this.#fill(slot, inside);
      return;
    }
    const byId = new Map(fresh.map((row) => [row.id, row]));
    // What came in above pushes the last ones out of the answer: those have gone nowhere.
    const lowest = fresh.at(-1);
    const isBeyond = (row: Row) => found.cursor !== null && (lowest === undefined || this.#parts.isBelow(row, lowest));
    const rows = slot.rows.map((row) => byId.get(row.id) ?? (isBeyond(row) ? row : { ...row, isGone: true }));
    if (slot === this.#slots[0]) this.#fresh = inside.filter((row) => !this.#pageOf.has(row.id)).length;
    this.#fill(slot, rows);
  }

  /** Nobody is there to lose their place. */
  #settleHead(head: Slot, fresh: Row[], found: Page<Task>): void {
    const before = head.rows ?? [];
    const isSame = before.length === fresh.length && before.every((row, index) => row.id === fresh[index]?.id);
    if (isSame) this.#fill(head, fresh);
    else {
      this.#replace(found);
      // Touched again while it was being fetched.
      for (const first of this.#slots) first.isDirty = head.isDirty;
    }
    this.#fresh = 0;
  }

  #replace(first: Page<Task>): void {
    this.#pageOf.clear();
    this.#slots = [];
    this.#fresh = 0;
    this.#append(null, first);
  }

  #append(cursor: string | null, found: Page<Task>): void {
    const rows = found.rows.map(rowOf).filter((row) => !this.#pageOf.has(row.id));
    const slot: Slot = { cursor, last: rows.at(-1), rows: null, size: 0, isDirty: false };
    this.#slots.push(slot);
    this.#fill(slot, rows);
    this.#next = found.cursor;
  }

  async #goOn(life: number, rowsSoFar: number): Promise<void> {
    let rows = rowsSoFar;
    for (let piece = 0; piece < PIECES_MAX && rows < ROWS_WANTED && this.#next !== null; piece += 1) {
      const cursor: string = this.#next;
      const found = await this.#parts.fetch(cursor);
      if (life !== this.#life) return;
      this.#append(cursor, found);
      rows += found.rows.length;
      this.#letGo(this.#seen());
      this.#tell();
    }
  }

  #fill(slot: Slot, rows: Row[]): void {
    for (const row of slot.rows ?? []) this.#pageOf.delete(row.id);
    for (const row of rows) this.#pageOf.set(row.id, slot);
    slot.rows = rows;
    slot.size = rows.length;
  }

  #seen(): Slot[] {
    const [first, last] = this.#sight;
    let start = 0;
    return this.#slots.filter((slot) => {
      const from = start;
      start += slot.size;
      return slot.size > 0 && from <= last && start > first;
    });
  }

  #letGo(seen: readonly Slot[]): void {
    // The first page stays: what is new is told by comparing with it.
    const kept = this.#slots.filter((slot, place) => slot.rows !== null && place > 0);
    if (kept.length <= KEPT_PAGES_MAX) return;
    const places = new Map(this.#slots.map((slot, place) => [slot, place]));
    const here = places.get(seen[0] ?? (this.#slots.at(-1) as Slot)) ?? 0;
    const away = (slot: Slot) => Math.abs((places.get(slot) ?? 0) - here);
    kept.sort((one, other) => away(one) - away(other));
    for (const slot of kept.slice(KEPT_PAGES_MAX)) {
      for (const row of slot.rows ?? []) this.#pageOf.delete(row.id);
      slot.rows = null;
    }
  }

  #startOf(wanted: Slot): number {
    let start = 0;
    for (const slot of this.#slots) {
      if (slot === wanted) break;
      start += slot.size;
    }
    return start;
  }

  #tell(): void {
    this.#snapshot = {
      rows: this.#slots.reduce((sum, slot) => sum + slot.size, 0),
      isLoading: this.#isLoading,
      hasMore: this.#next !== null,
      error: this.#error,
      fresh: this.#fresh,
    };
    for (const told of this.#listeners) told();
  }
}

/** A field whose text goes into the address a moment after the last letter, and comes from there when others change it.
 *
 * The address follows later, maybe while somebody types on, and without the spaces at the ends. So what comes back is
 * not taken for somebody else's change: that would take away what was typed since.
 */

import { useEffect, useState } from "react";

import { TYPING_MS } from "./debounced";

export interface Typing {
  typed: string;
  /** What the address said when it was last looked at. */
  seen: string;
  /** What was told and has not come back yet, oldest first. */
  told: readonly string[];
  /** How often fields were cleared until then. */
  clearings: number;
}

/** More are on their way only if addresses are skipped, and then the oldest never come. */
const TOLD_MAX = 8;

export function newTyping(seen: string, clearings = 0): Typing {
  return { typed: seen, seen, told: [], clearings };
}

/** What the address will say once everything told has come back. */
export function expected({ seen, told }: Typing): string {
  return told.at(-1) ?? seen;
}

export function tell(typing: Typing, text: string): Typing {
  return { ...typing, told: [...typing.told, text].slice(-TOLD_MAX) };
}

/**
 * What the address says now: the same, what was told, or what a tab or a link made of it. "Clear" may come before the
 * address hears of what was typed, and so without changing it.
 */
export function see(typing: Typing, seen: string, clearings = typing.clearings): Typing {
  if (clearings !== typing.clearings) return newTyping(seen, clearings);
  if (seen === typing.seen) return typing;
  const at = typing.told.indexOf(seen);
  return at === -1 ? newTyping(seen, clearings) : { ...typing, seen, told: typing.told.slice(at + 1) };
}

/** The text of the field, how to change it, and how to have it told at once; `onTell` puts it into the address. */
export function useTyped(
  address: string,
  onTell: (text: string) => void,
  clearings = 0,
): [text: string, type: (typed: string) => void, tellNow: () => void] {
  const [typing, setTyping] = useState(() => newTyping(address, clearings));
  const looked = see(typing, address, clearings);
  if (looked !== typing) setTyping(looked);
  const text = typing.typed.trim();
  const isTold = text === expected(typing);
  const tellNow = () => {
    if (isTold) return;
    setTyping((now) => tell(now, text));
    onTell(text);
  };
  useEffect(() => {
    if (isTold) return;
    const timer = setTimeout(tellNow, TYPING_MS);
    return () => {
      clearTimeout(timer);
    };
    // The latest `onTell` is as good as any; a new one must not make anybody wait again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text, isTold]);
  const type = (typed: string) => {
    setTyping((now) => ({ ...now, typed }));
  };
  return [typing.typed, type, tellNow];
}

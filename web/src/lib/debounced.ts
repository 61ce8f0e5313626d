import { useEffect, useState } from "react";

/** Nobody who types makes a longer pause within a word. */
export const TYPING_MS = 250;

/** A value once nobody has changed it for a moment: what is typed is asked about in words, not in letters. */
export function useDebounced<T>(value: T, ms = TYPING_MS): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, ms);
    return () => {
      clearTimeout(timer);
    };
  }, [value, ms]);
  return settled;
}

import { useEffect, useRef, useState } from "react";

import { useLive } from "~/live/useLive";

/** Events in one batch (a quarter of a second). */
const BUSY_EVENTS = 20;
const CALM_MS = 3_000;

/** Whether so much happens that details had better not be asked for after each event. */
export function useIsBusy(): boolean {
  const [isBusy, setIsBusy] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLive(({ events }) => {
    if (events.length < BUSY_EVENTS) return;
    setIsBusy(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setIsBusy(false);
    }, CALM_MS);
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
    },
    [],
  );
  return isBusy;
}

import { useEffect, useEffectEvent } from "react";

import type { Batch } from "./batches";
import { useLiveContext } from "./LiveProvider";
import type { Connection } from "./stream";

/** Called with what happened, at most four times a second. The latest `told` is called; it need not be stable. */
export function useLive(told: (batch: Batch) => void): void {
  const { subscribe } = useLiveContext();
  const latest = useEffectEvent(told);
  useEffect(
    () =>
      subscribe((batch) => {
        latest(batch);
      }),
    [subscribe],
  );
}

export function useConnection(): Connection {
  return useLiveContext().connection;
}

/** Whether to ask the hub already: what is asked for once the stream stands need not be asked for again when it does. */
export function useMayAsk(): boolean {
  return useLiveContext().isSettled;
}

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from "react";

import { ME } from "~/api/keys";
import { whoseStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";

import { type Batch, Gatherer } from "./batches";
import { Refresher } from "./refresher";
import { type Connection, EventStream } from "./stream";

type Told = (batch: Batch) => void;

/** A page waits no longer than this for the stream: then it shows what it can. */
const FIRST_LINE_MS_MAX = 400;

interface Live {
  connection: Connection;
  /** Whether it is known how the first attempt to connect ended, or took too long. */
  isSettled: boolean;
  subscribe: (told: Told) => () => void;
}

const LiveContext = createContext<Live | null>(null);

/** One stream for the tab: it tells whoever listens, and fetches anew what an event touched. */
export function LiveProvider({ isAdmin, children }: { isAdmin: boolean; children: ReactNode }) {
  const client = useQueryClient();
  const [connection, setConnection] = useState<Connection>("connecting");
  const [isSettled, setIsSettled] = useState(false);
  const listeners = useRef(new Set<Told>());
  const whose = useStore(whoseStore);
  const url = isAdmin && whose !== "" ? `/api/v1/events?user=${encodeURIComponent(whose)}` : "/api/v1/events";

  useEffect(() => {
    const refresher = new Refresher(client, () => document.hidden);
    const gatherer = new Gatherer((batch) => {
      refresher.take(batch);
      for (const told of listeners.current) told(batch);
    });
    const stream = new EventStream({
      url,
      fetch: (...asked) => fetch(...asked),
      random: Math.random,
      onEvent: (event) => {
        gatherer.add(event);
      },
      onConnection: (now) => {
        setConnection(now);
        if (now !== "connecting") setIsSettled(true);
      },
      onGap: () => {
        gatherer.gap();
      },
      onSignedOut: () => {
        client.setQueryData(ME, null);
      },
    });
    const hurry = () => {
      stream.hurry();
    };
    const look = () => {
      refresher.seen();
    };
    window.addEventListener("online", hurry);
    document.addEventListener("visibilitychange", look);
    const late = setTimeout(setIsSettled, FIRST_LINE_MS_MAX, true);
    stream.start();
    return () => {
      clearTimeout(late);
      window.removeEventListener("online", hurry);
      document.removeEventListener("visibilitychange", look);
      stream.stop();
      gatherer.stop();
      refresher.stop();
    };
  }, [client, url]);

  const live = useMemo<Live>(
    () => ({
      connection,
      isSettled,
      subscribe: (told) => {
        listeners.current.add(told);
        return () => listeners.current.delete(told);
      },
    }),
    [connection, isSettled],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

export function useLiveContext(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error("This part of the page is outside of LiveProvider.");
  return live;
}

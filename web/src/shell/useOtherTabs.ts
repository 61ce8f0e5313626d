import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";

import type { Me } from "~/api/client";

const CHANNEL = "taskyard.session";

/** All tabs of a browser share one cookie: when another tab signs out or is somebody else's, this one is too, and asks who. */
export function useOtherTabs(me: Me | null | undefined): void {
  const client = useQueryClient();
  const who = me === undefined ? undefined : nameOf(me);
  const hear = useEffectEvent((said: unknown) => {
    // Nothing of whoever was here stays to be seen by whoever is.
    if (who !== undefined && said !== who) void client.resetQueries();
  });
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL);
    channel.onmessage = ({ data }) => {
      hear(data);
    };
    if (who !== undefined) channel.postMessage(who);
    return () => {
      channel.close();
    };
  }, [who]);
}

/** A person with another key may do other things. */
function nameOf(me: Me | null): string {
  return me === null ? "" : [me.id, ...me.scopes].join(" ");
}

import { useQuery } from "@tanstack/react-query";

import { decisionQuery } from "~/api/queries/yard";
import { useConnection } from "~/live/useLive";
import type { Connection } from "~/live/stream";
import { Badge } from "~/ui/Badge";
import type { Tone } from "~/words";

const SAID: Record<Connection, { label: string; tone: Tone; means: string }> = {
  live: { label: "Live", tone: "well", means: "What you see is what happens." },
  connecting: { label: "Connecting", tone: "neutral", means: "The page is about to hear from the hub." },
  off: { label: "Not live", tone: "quiet", means: "This key may not follow what happens. Load the page again for news." },
  lost: { label: "Reconnecting", tone: "attention", means: "The hub does not answer. The page goes on trying." },
};

/** In words, and told to a screen reader when it changes. */
export function ConnectionState() {
  const { label, tone, means } = SAID[useConnection()];
  return (
    <span role="status" data-testid="connection">
      <Badge tone={tone} title={means}>
        {label}
      </Badge>
    </span>
  );
}

const AWAY = "The hub does not answer. What you see is from before; the page goes on by itself as soon as it is back.";

/** Across the page while the hub is away: what is shown is old. If it waits for a person to decide, that is said. */
export function LostBanner() {
  const isLost = useConnection() === "lost";
  const { data: decision } = useQuery({ ...decisionQuery, enabled: isLost });
  if (!isLost) return null;
  return (
    <p role="alert" className="border-b border-attention/30 bg-attention-soft px-4 py-1.5 text-center text-attention">
      {decision ?? AWAY}
    </p>
  );
}

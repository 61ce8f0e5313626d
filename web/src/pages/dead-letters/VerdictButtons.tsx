import { ArrowUpRight, Clock, Ellipsis, RotateCcw, Trash2 } from "lucide-react";
import type { ReactNode } from "react";

import { Button } from "~/ui/Button";
import { Menu, type MenuItem } from "~/ui/Menu";

import { type Verdict, VERDICT, VERDICTS } from "./verdicts";

const ICONS: Record<Verdict, ReactNode> = {
  retry: <RotateCcw />,
  wait: <Clock />,
  escalate: <ArrowUpRight />,
  discard: <Trash2 />,
};

interface Props {
  /** What is decided about, for a screen reader. */
  about: string;
  onDecide: (verdict: Verdict) => void;
}

/** All of them side by side: for a whole pattern, or what is selected. */
export function VerdictButtons({ about, onDecide }: Props) {
  return (
    <div role="group" aria-label={`Decide about ${about}`} className="flex flex-wrap gap-2">
      {VERDICTS.map((verdict) => (
        <Button
          key={verdict}
          icon={ICONS[verdict]}
          look={verdict === "discard" ? "danger" : "plain"}
          onClick={() => {
            onDecide(verdict);
          }}
        >
          {VERDICT[verdict].label}
        </Button>
      ))}
    </div>
  );
}

/** In a menu: for one task among many. */
export function VerdictMenu({ about, onDecide }: Props) {
  const items = VERDICTS.map<MenuItem>((verdict) => ({
    label: VERDICT[verdict].label,
    icon: ICONS[verdict],
    ...(verdict === "discard" ? { tone: "failed" as const } : {}),
    onSelect: () => {
      onDecide(verdict);
    },
  }));
  return (
    <Menu label={`Decide about ${about}`} items={items}>
      <Ellipsis />
    </Menu>
  );
}

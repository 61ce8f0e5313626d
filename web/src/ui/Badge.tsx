import type { ReactNode } from "react";

import { cx } from "~/lib/classes";
import type { Tone } from "~/words";

export const DOTS: Record<Tone, string> = {
  quiet: "border border-quiet-dot",
  neutral: "bg-quiet-dot",
  active: "bg-accent",
  well: "bg-well",
  attention: "bg-attention-dot",
  failed: "bg-failed",
};

export const TEXTS: Record<Tone, string> = {
  quiet: "text-ink-3",
  neutral: "text-ink-2",
  active: "text-accent",
  well: "text-ink-2",
  attention: "text-attention",
  failed: "text-failed",
};

interface Props {
  tone: Tone;
  children: ReactNode;
  title?: string | undefined;
  /** Something goes on at this moment. */
  pulses?: boolean;
}

/** A dot and a word: never the colour alone. */
export function Badge({ tone, children, title, pulses = false }: Props) {
  return (
    <span title={title} className={cx("inline-flex items-center gap-1.5 align-middle whitespace-nowrap", TEXTS[tone])}>
      <span aria-hidden className={cx("size-2 shrink-0 rounded-full", DOTS[tone], pulses && "pulse")} />
      {children}
    </span>
  );
}

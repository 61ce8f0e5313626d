import type { ReactNode } from "react";

import { cx } from "~/lib/classes";
import type { Tone } from "~/words";

import { TEXTS } from "./Badge";

interface Props {
  label: string;
  value: ReactNode;
  /** Small, below: what it is made of, or compared with. */
  note?: ReactNode;
  tone?: Tone;
  children?: ReactNode;
}

/** One figure with its name; a sparkline may stand below. */
export function Stat({ label, value, note, tone, children }: Props) {
  return (
    <div className="flex min-w-0 flex-col gap-0.5">
      <p className="truncate text-ink-2">{label}</p>
      <p className={cx("text-2xl font-semibold tracking-tight", tone !== undefined && TEXTS[tone])}>{value}</p>
      {note !== undefined && <p className="min-h-5 text-ink-3">{note}</p>}
      {children}
    </div>
  );
}

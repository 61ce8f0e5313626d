import type { ButtonHTMLAttributes, ReactNode } from "react";

import { cx } from "~/lib/classes";

type Look = "plain" | "primary" | "danger" | "bare";

const LOOKS: Record<Look, string> = {
  plain: "border border-line-strong bg-surface hover:bg-sunken",
  primary: "border border-transparent bg-accent text-on-accent hover:bg-accent-strong",
  danger: "border border-failed/50 bg-surface text-failed hover:bg-failed-soft",
  bare: "border border-transparent text-ink-2 hover:bg-sunken hover:text-ink",
};

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: ReactNode;
  /** Something is under way: it cannot be pressed again, and says so. */
  busy?: boolean;
}

export function Button({ look = "plain", icon, busy = false, children, className, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={cx(
        "inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-md px-3 font-medium whitespace-nowrap",
        "disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0",
        LOOKS[look],
        busy && "shimmer",
        className,
      )}
    >
      {icon}
      {children}
    </button>
  );
}

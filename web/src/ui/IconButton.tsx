import type { ButtonHTMLAttributes, ReactNode } from "react";

import { cx } from "~/lib/classes";

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "aria-label"> {
  /** What it does: its name for a screen reader, and what the pointer is told. */
  label: string;
  children: ReactNode;
}

export function IconButton({ label, children, className, ...rest }: Props) {
  return (
    <button
      type="button"
      title={label}
      {...rest}
      aria-label={label}
      className={cx(
        "inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-2 hover:bg-sunken hover:text-ink",
        "disabled:opacity-50 [&_svg]:size-4",
        className,
      )}
    >
      {children}
    </button>
  );
}

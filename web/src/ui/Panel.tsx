import { type ReactNode, useId } from "react";

import { cx } from "~/lib/classes";

interface Props {
  title?: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Without padding: for tables and lists that reach the edge. */
  flush?: boolean;
  className?: string;
}

export function Panel({ title, aside, children, flush = false, className }: Props) {
  const id = useId();
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className={cx("min-w-0 overflow-hidden rounded-lg border border-line bg-surface", className)}
    >
      {title !== undefined && (
        <header className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          {aside}
        </header>
      )}
      <div className={flush ? "" : "p-4"}>{children}</div>
    </section>
  );
}

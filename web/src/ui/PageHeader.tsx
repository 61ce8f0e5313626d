import type { ReactNode } from "react";

interface Props {
  title: string;
  /** The window's title, where it should say more than the page's. */
  name?: string;
  children?: ReactNode;
  actions?: ReactNode;
}

export function PageHeader({ title, name = title, children, actions }: Props) {
  return (
    <header className="mb-4 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <title>{`${name} · Taskyard`}</title>
      <div className="min-w-0 flex-1 basis-64">
        {/* A task's title can be as long as a book: what stands below it must still be seen. */}
        <h1 title={title} className="line-clamp-3 text-xl font-semibold tracking-tight wrap-anywhere">
          {title}
        </h1>
        {children !== undefined && <div className="mt-0.5 text-ink-2">{children}</div>}
      </div>
      {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  );
}

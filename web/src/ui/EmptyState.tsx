import type { ReactNode } from "react";

interface Props {
  icon?: ReactNode;
  title: string;
  /** What to do about it, or why that is fine. */
  children?: ReactNode;
  action?: ReactNode;
}

export function EmptyState({ icon, title, children, action }: Props) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      {icon !== undefined && <div className="text-ink-3 [&_svg]:size-6">{icon}</div>}
      <p className="text-base font-medium">{title}</p>
      {children !== undefined && <div className="max-w-md text-ink-2">{children}</div>}
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  );
}

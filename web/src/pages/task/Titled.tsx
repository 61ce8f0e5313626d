import type { ReactNode } from "react";

/** One thing of many on a panel, under its own small heading. */
export function Titled({ title, note, children }: { title: string; note?: ReactNode; children: ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-1.5">
      <h3 className="flex flex-wrap items-baseline gap-x-2 font-medium">
        {title}
        {note !== undefined && <span className="font-normal text-ink-3">{note}</span>}
      </h3>
      {children}
    </section>
  );
}

/** Whether there is anything in it to show. */
export function isFilled(data: unknown): boolean {
  if (data == null || data === "") return false;
  return typeof data !== "object" || Object.keys(data).length > 0;
}

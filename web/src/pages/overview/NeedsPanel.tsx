import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";

import { cx } from "~/lib/classes";
import { DOTS } from "~/ui/Badge";
import { Panel } from "~/ui/Panel";
import { Sentence } from "~/ui/Sentence";
import { SkeletonRows } from "~/ui/Skeleton";

import type { Need } from "./needs";

/** What waits for a person, each with the way to where it is solved. */
export function NeedsPanel({ needs }: { needs: readonly Need[] | null }) {
  return (
    <Panel title="Needs a person now" flush>
      {needs === null ? (
        <SkeletonRows rows={3} />
      ) : needs.length === 0 ? (
        <p className="flex items-center gap-2 px-4 py-5 text-ink-2">
          <CircleCheck aria-hidden className="size-4 text-well" />
          Nothing. Everything goes on by itself.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {needs.map((need) => (
            <Row key={need.id} need={need} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Row({ need }: { need: Need }) {
  return (
    <li>
      <Link
        to={need.to}
        {...(need.search === undefined ? {} : { search: need.search })}
        className="flex items-start gap-3 px-4 py-2.5 -outline-offset-2 hover:bg-page"
      >
        <span aria-hidden className={cx("mt-1.5 size-2 shrink-0 rounded-full", DOTS[need.tone])} />
        <span className="min-w-0 flex-1">
          <span className="block font-medium">{need.text}</span>
          {need.note !== null && <span className="line-clamp-2 text-ink-2"><Sentence text={need.note} /></span>}
        </span>
        <span className="shrink-0 font-medium text-accent">{need.action}</span>
      </Link>
    </li>
  );
}

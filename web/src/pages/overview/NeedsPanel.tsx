import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";

import { metricsQuery } from "~/api/queries/figures";
import { useIsAdmin } from "~/api/queries/session";
import { someTasksQuery } from "~/api/queries/tasks";
import { breakersQuery, daemonsQuery, deadLettersQuery, type Held, queuesQuery } from "~/api/queries/yard";
import { cx } from "~/lib/classes";
import { useNow } from "~/lib/now";
import { useWhose, useWhoseOwn } from "~/lib/whose";
import { DOTS } from "~/ui/Badge";
import { Panel } from "~/ui/Panel";
import { SkeletonRows } from "~/ui/Skeleton";

import { LISTED_MAX, type Need, needsOf } from "./needs";

/** What waits for a person, each with the way to where it is solved. */
export function NeedsPanel({ held }: { held: readonly Held[] }) {
  const needs = useNeeds(held);
  return (
    <Panel title="Needs a person now" flush>
      {needs === null ? (
        <SkeletonRows rows={3} />
      ) : needs.length === 0 ? (
        <p className="flex items-center gap-2 px-4 py-5 text-ink-2">
          <CircleCheck aria-hidden className="size-4 text-well" />
          Nothing. The yard goes on by itself.
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
          {need.note !== null && <span className="line-clamp-2 text-ink-2">{need.note}</span>}
        </span>
        <span className="shrink-0 font-medium text-accent">{need.action}</span>
      </Link>
    </li>
  );
}

function useNeeds(held: readonly Held[]): Need[] | null {
  const whose = useWhose();
  const letters = useQuery(deadLettersQuery({ ...whose, limit: LISTED_MAX }));
  const blocked = useQuery(someTasksQuery({ ...whose, status: "blocked", limit: LISTED_MAX }));
  const breakers = useQuery(breakersQuery(useWhoseOwn()));
  const queues = useQuery(queuesQuery(whose));
  const daemons = useQuery(daemonsQuery(whose));
  const metrics = useQuery({ ...metricsQuery, enabled: useIsAdmin() });
  const now = useNow();
  const isThere = letters.data && blocked.data && breakers.data && queues.data && daemons.data;
  if (isThere === undefined) return null;
  return needsOf({
    letters: letters.data ?? [],
    blocked: blocked.data ?? [],
    breakers: breakers.data ?? [],
    breakersOpen: whose.user === "*" ? (metrics.data?.breakers_open ?? null) : null,
    queues: queues.data ?? [],
    daemons: daemons.data ?? [],
    held,
    now,
  });
}

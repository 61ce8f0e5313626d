import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";

import type { Breaker } from "~/api/client";
import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { counted } from "~/lib/format";
import { useWhose } from "~/lib/whose";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { type Columns, createColumnHelper } from "~/ui/columns";
import { RelativeTime } from "~/ui/RelativeTime";
import { BREAKER } from "~/words";

import { closeAndSay } from "./acts";

const column = createColumnHelper<Breaker>();

/** Whose each is stands there only when there can be several owners. */
export function useColumns(): Columns<Breaker> {
  const isAll = useWhose().user === "*";
  const users = useQuery({ ...usersQuery, enabled: useIsAdmin() && isAll });
  return useMemo(() => {
    const names = new Map(users.data?.map(({ id, name }) => [id, name]));
    const owner = column.accessor(({ user_id }) => names.get(user_id) ?? user_id, { id: "owner", header: "Whose" });
    return isAll ? [TYPE, owner, ...REST] : [TYPE, ...REST];
  }, [isAll, users.data]);
}

const TYPE = column.accessor("type", {
  header: "Type",
  cell: ({ getValue }) => (
    <Link to="/queue" search={{ type: getValue() }} className="font-medium hover:underline">
      {getValue()}
    </Link>
  ),
});

const REST: Columns<Breaker> = [
  column.display({ id: "state", header: "State", cell: ({ row: { original } }) => <State breaker={original} /> }),
  column.accessor("failures", {
    header: "Failed in a row",
    meta: { wide: true, align: "right" },
    cell: ({ row: { original } }) => `${String(original.failures)} of ${String(original.failure_threshold)}`,
  }),
  column.accessor("last_failure_at", {
    header: "Last failure",
    meta: { wide: true },
    cell: ({ row: { original } }) => <RelativeTime at={original.last_failure_at} none="none" />,
  }),
  column.display({
    id: "actions",
    header: () => <span className="sr-only">Actions</span>,
    meta: { align: "right" },
    cell: ({ row: { original } }) =>
      original.state !== "closed" && (
        <Button
          aria-label={`Close the breaker of ${original.type}`}
          onClick={() => {
            closeAndSay(original);
          }}
        >
          Close
        </Button>
      ),
  }),
];

function State({ breaker }: { breaker: Breaker }) {
  const word = BREAKER[breaker.state];
  return (
    <div>
      <Badge tone={word.tone}>{word.label}</Badge>
      <p className="min-w-24 text-ink-2">
        <What breaker={breaker} />
      </p>
    </div>
  );
}

/** In a sentence: what it does now, and what comes next. */
function What({ breaker }: { breaker: Breaker }) {
  if (breaker.state === "closed") {
    const left = breaker.failure_threshold - breaker.failures;
    return `opens after ${counted(left, "more failure")}`;
  }
  if (breaker.probe != null) {
    return (
      <>
        <Link to="/tasks/$id" params={{ id: breaker.probe }} search={{ user: breaker.user_id }} className="text-accent hover:underline">
          one task
        </Link>{" "}
        tries; the others wait for it
      </>
    );
  }
  if (breaker.half_open_at != null) {
    return (
      <>
        starts none; one task may try <RelativeTime at={breaker.half_open_at} />
      </>
    );
  }
  return "one task may try now";
}

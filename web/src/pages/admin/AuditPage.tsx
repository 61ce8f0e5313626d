import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { auditQuery, usersQuery } from "~/api/queries/people";
import { daemonsQuery } from "~/api/queries/yard";
import { useFilters } from "~/lib/filters";
import { useTyped } from "~/lib/typed";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Field } from "~/ui/Field";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { columnsFor } from "./auditColumns";
import { type Entry, namesIn, searchable } from "./deeds";

const EVERYBODY = { user: "*" };

export default function AuditPage() {
  const [filters, change] = useFilters();
  const [typed, type] = useTyped(filters.q ?? "", (q) => {
    change({ q });
  });
  const audit = useInfiniteQuery(auditQuery);
  const users = useQuery(usersQuery);
  const daemons = useQuery(daemonsQuery(EVERYBODY));
  const entries = useMemo(() => audit.data?.pages.flatMap((page) => page.rows) ?? [], [audit.data]);
  const names = useMemo(() => {
    const known = [...(users.data ?? []), ...(daemons.data ?? [])].map(({ id, name }) => [id, name] as const);
    return new Map([...namesIn(entries), ...known]);
  }, [users.data, daemons.data, entries]);
  const sought = (filters.q ?? "").toLowerCase();
  const fits = (entry: Entry) => searchable(entry, names).includes(sought);
  return (
    <>
      <PageHeader
        title="Audit"
        actions={
          <Field
            label="Find"
            hideLabel
            type="search"
            placeholder="Who, what, to which…"
            value={typed}
            onChange={(event) => {
              type(event.target.value);
            }}
          />
        }
      >
        What people did to the yard itself, newest first.
      </PageHeader>
      <Panel flush>
        <Loaded query={audit}>
          {() => (
            <>
              <Table
                label="Audit"
                rows={entries.filter(fits)}
                columns={columnsFor(names)}
                rowId={(entry) => `${entry.at} ${entry.actor} ${entry.action} ${entry.subject}`}
                empty={
                  <EmptyState title={sought === "" ? "Nothing was changed yet" : "Nothing like that"}>
                    {sought !== "" && audit.hasNextPage && "There may be more among what is older."}
                  </EmptyState>
                }
              />
              {audit.hasNextPage && (
                <div className="border-t border-line p-2 text-center">
                  <Button look="bare" busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
                    Show what is older
                  </Button>
                </div>
              )}
            </>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

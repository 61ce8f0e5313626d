import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { auditQuery, usersQuery } from "~/api/queries/people";
import { useFilters } from "~/lib/filters";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Field } from "~/ui/Field";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { columnsFor } from "./auditColumns";
import { type Entry, searchable } from "./deeds";

export default function AuditPage() {
  const [filters, setFilters] = useFilters();
  const audit = useInfiniteQuery(auditQuery);
  const users = useQuery(usersQuery);
  const names = useMemo(() => new Map(users.data?.map(({ id, name }) => [id, name])), [users.data]);
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
            value={filters.q ?? ""}
            onChange={(event) => {
              setFilters({ q: event.target.value });
            }}
          />
        }
      >
        What people did to the yard itself, newest first.
      </PageHeader>
      <Panel flush>
        <Loaded query={audit}>
          {({ pages }) => (
            <>
              <Table
                label="Audit"
                rows={pages.flatMap((page) => page.rows).filter(fits)}
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

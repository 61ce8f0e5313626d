import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";

import type { Schemas } from "~/api/client";
import { keysQuery, usersQuery } from "~/api/queries/people";
import { useMe } from "~/api/queries/session";
import { useFilters } from "~/lib/filters";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Select } from "~/ui/Select";
import { Table } from "~/ui/Table";

import { columnsFor } from "./keyColumns";
import { NewKeyDialog } from "./NewKeyDialog";
import { RevokeDialog } from "./RevokeDialog";

export default function KeysPage() {
  const me = useMe();
  const [filters, setFilters] = useFilters();
  const userId = filters.of ?? me.id;
  const users = useQuery(usersQuery);
  const keys = useQuery(keysQuery(userId));
  const [making, setMaking] = useState(false);
  const [revoked, setRevoked] = useState<Schemas["KeyAnswer"] | null>(null);
  const owner = users.data?.find((user) => user.id === userId);
  return (
    <>
      <PageHeader
        title="Keys"
        actions={
          <>
            <Select
              label="Whose keys"
              hideLabel
              className="max-w-56"
              value={userId}
              options={(users.data ?? [me]).map((user) => ({ value: user.id, label: user.name }))}
              onChange={(id) => {
                setFilters({ of: id });
              }}
            />
            <Button
              icon={<Plus />}
              onClick={() => {
                setMaking(true);
              }}
            >
              New key
            </Button>
          </>
        }
      >
        A key is shown once, when it is made. The hub keeps only a fingerprint of it.
      </PageHeader>
      <Panel flush>
        <Loaded query={keys}>
          {(rows) => (
            <Table
              label="Keys"
              rows={rows}
              columns={columnsFor(setRevoked)}
              rowId={(key) => key.id}
              empty={
                <EmptyState icon={<KeyRound />} title="No keys">
                  {owner?.name ?? "This user"} cannot get in until you make one.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
      {making && (
        <NewKeyDialog
          userId={userId}
          owner={owner?.name ?? me.name}
          onClose={() => {
            setMaking(false);
          }}
        />
      )}
      {revoked !== null && (
        <RevokeDialog
          of={revoked}
          onClose={() => {
            setRevoked(null);
          }}
        />
      )}
    </>
  );
}

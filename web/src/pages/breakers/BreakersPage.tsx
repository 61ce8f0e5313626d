import { useQuery } from "@tanstack/react-query";
import { Unplug } from "lucide-react";
import { useState } from "react";

import { breakersQuery } from "~/api/queries/yard";
import { useWhose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { useColumns } from "./columns";
import { HoldDialog } from "./HoldDialog";

export default function BreakersPage() {
  const breakers = useQuery(breakersQuery(useWhose()));
  const columns = useColumns();
  const [holding, setHolding] = useState(false);
  const hold = (
    <Button
      onClick={() => {
        setHolding(true);
      }}
    >
      Hold a type back…
    </Button>
  );
  return (
    <>
      <PageHeader title="Breakers" actions={hold}>
        When tasks of one type fail several times in a row, its breaker opens: no more of them start until one that tries succeeds.
      </PageHeader>
      <Panel flush>
        <Loaded query={breakers}>
          {(rows) => (
            <Table
              label="Breakers"
              rows={rows}
              columns={columns}
              rowId={(breaker) => `${breaker.user_id} ${breaker.type}`}
              empty={
                <EmptyState icon={<Unplug />} title="Every breaker is closed">
                  No type of task has failed lately, and nobody holds one back.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
      {holding && (
        <HoldDialog
          onClose={() => {
            setHolding(false);
          }}
        />
      )}
    </>
  );
}

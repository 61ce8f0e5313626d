import { useQuery } from "@tanstack/react-query";
import { Layers, Plus } from "lucide-react";
import { useState } from "react";

import type { Queue } from "~/api/client";
import { useIsAdmin } from "~/api/queries/session";
import { queuesQuery } from "~/api/queries/yard";
import { useWhose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { columnsFor } from "./columns";
import { NEW, QueueDialog } from "./QueueDialog";

export default function QueuesPage() {
  const queues = useQuery(queuesQuery(useWhose()));
  const isAdmin = useIsAdmin();
  const [edited, setEdited] = useState<Queue | null>(null);
  return (
    <>
      <PageHeader
        title="Queues"
        actions={
          isAdmin && (
            <Button
              icon={<Plus />}
              onClick={() => {
                setEdited(NEW);
              }}
            >
              New queue
            </Button>
          )
        }
      >
        A queue is for the models of one provider: it limits how many tasks run at a time, and rests when the provider refuses.
      </PageHeader>
      <Panel flush>
        <Loaded query={queues}>
          {(rows) => (
            <Table
              label="Queues"
              rows={rows}
              columns={columnsFor(isAdmin, setEdited)}
              rowId={(queue) => queue.name}
              empty={
                <EmptyState icon={<Layers />} title="No queues">
                  Every task is in the default queue until one is made for its model.
                </EmptyState>
              }
            />
          )}
        </Loaded>
      </Panel>
      {edited !== null && (
        <QueueDialog
          queue={edited}
          onClose={() => {
            setEdited(null);
          }}
        />
      )}
    </>
  );
}

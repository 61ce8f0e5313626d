import { useQuery } from "@tanstack/react-query";
import { Plus, Server } from "lucide-react";
import { useState } from "react";

import type { Daemon } from "~/api/client";
import { useIsAdmin } from "~/api/queries/session";
import { daemonsQuery } from "~/api/queries/yard";
import { counted } from "~/lib/format";
import { useWhose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { AddDaemonDialog } from "./AddDaemonDialog";
import { columns } from "./columns";
import { DaemonDialog } from "./DaemonDialog";
import { HubsPanel } from "./HubsPanel";

export default function DaemonsPage() {
  const daemons = useQuery(daemonsQuery(useWhose()));
  const isAdmin = useIsAdmin();
  const [openId, setOpenId] = useState<string | null>(null);
  const [adding, setAdding] = useState(false);
  const open = daemons.data?.find((daemon) => daemon.id === openId);
  const add = (
    <Button
      icon={<Plus />}
      onClick={() => {
        setAdding(true);
      }}
    >
      Add a daemon
    </Button>
  );
  return (
    <>
      <PageHeader title="Daemons" actions={add}>
        {daemons.data !== undefined && <Summary daemons={daemons.data} />}
      </PageHeader>
      <div className="flex flex-col gap-4">
        <Panel flush>
          <Loaded query={daemons}>
            {(rows) => (
              <Table
                label="Daemons"
                rows={rows}
                columns={columns}
                rowId={(daemon) => daemon.id}
                onOpen={(daemon) => {
                  setOpenId(daemon.id);
                }}
                empty={
                  <EmptyState icon={<Server />} title="No daemon has come yet" action={add}>
                    Daemons run the work, wherever your agents are: on this machine, a laptop or a server.
                  </EmptyState>
                }
              />
            )}
          </Loaded>
        </Panel>
        {isAdmin && <HubsPanel />}
      </div>
      {open !== undefined && (
        <DaemonDialog
          daemon={open}
          onClose={() => {
            setOpenId(null);
          }}
        />
      )}
      {adding && (
        <AddDaemonDialog
          onClose={() => {
            setAdding(false);
          }}
        />
      )}
    </>
  );
}

function Summary({ daemons }: { daemons: readonly Daemon[] }) {
  const there = daemons.filter((daemon) => daemon.status !== "offline");
  const used = there.reduce((sum, daemon) => sum + daemon.active_tasks, 0);
  const slots = there.reduce((sum, daemon) => sum + daemon.max_concurrent_tasks, 0);
  if (daemons.length === 0) return "Nothing can run until a daemon is connected.";
  return `${String(there.length)} of ${counted(daemons.length, "daemon")} connected, ${String(used)} of ${counted(slots, "slot")} in use.`;
}

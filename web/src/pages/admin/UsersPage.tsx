import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";

import type { User } from "~/api/client";
import { plansQuery, usersUsageQuery } from "~/api/queries/people";
import { counted } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { Table } from "~/ui/Table";

import { LimitsDialog } from "./LimitsDialog";
import { NewUserDialog } from "./NewUserDialog";
import { columnsFor } from "./userColumns";

export default function UsersPage() {
  const users = useQuery(usersUsageQuery);
  const plans = useQuery(plansQuery);
  const [adding, setAdding] = useState(false);
  const [edited, setEdited] = useState<User | null>(null);
  const names = (plans.data ?? []).map((plan) => plan.name);
  return (
    <>
      <PageHeader
        title="Users"
        actions={
          <Button
            icon={<Plus />}
            onClick={() => {
              setAdding(true);
            }}
          >
            New user
          </Button>
        }
      >
        {users.data !== undefined && `${counted(users.data.length, "user")}, with what each may have and has used this month.`}
      </PageHeader>
      <Panel flush>
        <Loaded query={users}>
          {(rows) => <Table label="Users" rows={rows} columns={columnsFor(names, setEdited)} rowId={(user) => user.id} />}
        </Loaded>
      </Panel>
      {adding && (
        <NewUserDialog
          plans={names}
          onClose={() => {
            setAdding(false);
          }}
        />
      )}
      {edited !== null && (
        <LimitsDialog
          user={edited}
          onClose={() => {
            setEdited(null);
          }}
        />
      )}
    </>
  );
}

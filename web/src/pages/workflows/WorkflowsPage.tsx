import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useCallback, useState } from "react";

import type { Schedule } from "~/api/client";
import { schedulesQuery } from "~/api/queries/schedules";
import { useShortcut } from "~/keyboard/shortcuts";
import { cx } from "~/lib/classes";
import { counted } from "~/lib/format";
import { useFilters } from "~/lib/filters";
import { useIsNarrow } from "~/lib/narrow";
import { useOwnerOf } from "~/lib/owners";
import { useWhose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { Dialog } from "~/ui/Dialog";
import { IconButton } from "~/ui/IconButton";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { toastProblem } from "~/ui/Toasts";
import { CLOSE } from "~/words";

import { useActs } from "./acts";
import { Details } from "./Details";
import { ScheduleDialog } from "./ScheduleDialog";
import { Schedules } from "./Schedules";

export default function WorkflowsPage() {
  const whose = useWhose();
  const schedules = useQuery(schedulesQuery(whose));
  const acts = useActs();
  const ownerOf = useOwnerOf(whose);
  const [filters, setFilters] = useFilters();
  const [editing, setEditing] = useState<Schedule | "new" | null>(null);
  const [deleting, setDeleting] = useState<Schedule | null>(null);
  const chosen = schedules.data?.find((one) => one.id === filters.schedule) ?? null;

  const open = (schedule: Schedule | null) => {
    setFilters({ schedule: schedule?.id });
  };
  const run = useCallback(
    (schedule: Schedule) => {
      acts.run(schedule).catch(toastProblem);
    },
    [acts],
  );
  const makeNew = () => {
    setEditing("new");
  };
  useShortcut("n", "New schedule", makeNew);

  return (
    <>
      <PageHeader
        title="Workflows"
        actions={
          <Button look="primary" icon={<Plus />} onClick={makeNew}>
            New schedule
          </Button>
        }
      >
        {schedules.data !== undefined && schedules.data.length > 0 && summaryOf(schedules.data)}
      </PageHeader>
      <div className={cx("grid items-start gap-4", chosen !== null && "lg:grid-cols-[minmax(0,1fr)_minmax(24rem,30rem)]")}>
        <Panel flush>
          <Loaded query={schedules}>
            {(rows) => (
              <Schedules
                rows={rows}
                acts={acts}
                ownerOf={ownerOf}
                onOpen={open}
                onNew={makeNew}
                onRun={run}
                onEdit={setEditing}
                onDelete={setDeleting}
              />
            )}
          </Loaded>
        </Panel>
        {chosen !== null && (
          <Beside title={chosen.name} onClose={() => { open(null); }}>
            <Details
              key={chosen.id}
              schedule={chosen}
              acts={acts}
              onRun={() => { run(chosen); }}
              onEdit={() => { setEditing(chosen); }}
              onDelete={() => { setDeleting(chosen); }}
            />
          </Beside>
        )}
      </div>
      {editing !== null && (
        <ScheduleDialog
          schedule={editing === "new" ? null : editing}
          acts={acts}
          onClose={() => { setEditing(null); }}
          onSaved={open}
        />
      )}
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => { setDeleting(null); }}
        title={`Delete ${deleting?.name ?? ""}`}
        action="Delete schedule"
        look="danger"
        onConfirm={async () => {
          if (deleting === null) return;
          await acts.remove(deleting);
          if (deleting.id === filters.schedule) open(null);
        }}
      >
        <p>It makes no more tasks. Those that it has made stay and go on; its history is gone for good.</p>
        <p className="text-ink-2">To keep it for later, turn it off instead.</p>
      </ConfirmDialog>
    </>
  );
}

/** What was chosen, beside the list; on a phone, over it. */
function Beside({ title, onClose, children }: { title: string; onClose: () => void; children: React.ReactNode }) {
  if (useIsNarrow()) {
    return (
      <Dialog open onClose={onClose} title={title}>
        <div className="-m-4">{children}</div>
      </Dialog>
    );
  }
  return (
    <Panel
      title={title}
      flush
      aside={
        <IconButton label={CLOSE} onClick={onClose}>
          <X />
        </IconButton>
      }
    >
      {children}
    </Panel>
  );
}

function summaryOf(schedules: readonly Schedule[]): string {
  const on = schedules.filter((one) => one.enabled).length;
  return `${counted(schedules.length, "schedule")}, ${on === schedules.length ? "all on" : `${String(on)} on`}`;
}

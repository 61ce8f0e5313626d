import { Link } from "@tanstack/react-router";
import { CirclePlay, Ellipsis, Pencil, Repeat, Trash2 } from "lucide-react";
import { useMemo } from "react";

import type { Schedule } from "~/api/client";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { createColumnHelper } from "~/ui/columns";
import { EmptyState } from "~/ui/EmptyState";
import { Menu } from "~/ui/Menu";
import { RelativeTime } from "~/ui/RelativeTime";
import { StatusBadge } from "~/ui/StatusBadge";
import { Switch } from "~/ui/Switch";
import { Table } from "~/ui/Table";

import type { Acts } from "./acts";
import { skipWords } from "./sentences";
import { useToggle } from "./useToggle";
import { whenOf } from "./when";

interface Props {
  rows: Schedule[];
  acts: Acts;
  ownerOf: (schedule: Schedule) => string | undefined;
  onOpen: (schedule: Schedule) => void;
  onNew: () => void;
  onRun: (schedule: Schedule) => void;
  onEdit: (schedule: Schedule) => void;
  onDelete: (schedule: Schedule) => void;
}

const column = createColumnHelper<Schedule>();

export function Schedules({ rows, acts, ownerOf, onOpen, onNew, onRun, onEdit, onDelete }: Props) {
  const columns = useMemo(
    () => [
      column.accessor("name", {
        header: "Schedule",
        cell: ({ row: { original } }) => <Named schedule={original} owner={ownerOf(original)} />,
      }),
      column.accessor("next_run_at", {
        header: "Next run",
        cell: ({ row: { original } }) =>
          original.enabled ? <RelativeTime at={original.next_run_at} none="Never" /> : <span className="text-ink-3">–</span>,
      }),
      column.display({
        id: "last",
        header: "Last run",
        meta: { wide: true },
        cell: ({ row: { original } }) => <Last schedule={original} />,
      }),
      column.accessor("enabled", {
        header: "On",
        cell: ({ row: { original } }) => <Toggle schedule={original} acts={acts} />,
      }),
      column.display({
        id: "more",
        header: () => <span className="sr-only">Actions</span>,
        meta: { align: "right", wide: true },
        cell: ({ row: { original } }) => (
          <Menu
            label={`Actions for ${original.name}`}
            items={[
              { label: "Run now", icon: <CirclePlay />, onSelect: () => { onRun(original); } },
              { label: "Edit…", icon: <Pencil />, onSelect: () => { onEdit(original); } },
              "line",
              { label: "Delete…", icon: <Trash2 />, tone: "failed", onSelect: () => { onDelete(original); } },
            ]}
          >
            <Ellipsis />
          </Menu>
        ),
      }),
    ],
    [acts, ownerOf, onRun, onEdit, onDelete],
  );
  return (
    <Table
      label="Schedules"
      rows={rows}
      columns={columns}
      rowId={(schedule) => schedule.id}
      onOpen={onOpen}
      empty={
        <EmptyState
          icon={<Repeat />}
          title="No schedules yet"
          action={
            <Button look="primary" onClick={onNew}>
              New schedule
            </Button>
          }
        >
          A schedule makes the same task again and again: every morning, every fifteen minutes, on the first of the month.
        </EmptyState>
      }
    />
  );
}

function Named({ schedule, owner }: { schedule: Schedule; owner: string | undefined }) {
  const zone = schedule.cron === null ? null : schedule.timezone.replaceAll("_", " ");
  return (
    <div className="min-w-0 [overflow-wrap:anywhere]">
      <Link
        to="/workflows"
        search={(before) => ({ ...before, schedule: schedule.id })}
        className="font-medium hover:underline"
      >
        {schedule.name}
      </Link>
      <p className="text-ink-3">{[whenOf(schedule), zone, owner].filter((part) => part != null).join(" · ")}</p>
    </div>
  );
}

function Last({ schedule: { last_run_at, last_outcome, last_skip } }: { schedule: Schedule }) {
  const wasSkipped = last_skip !== null && (last_run_at === null || last_skip.at > last_run_at);
  if (wasSkipped) {
    return (
      <span className="flex flex-wrap gap-x-2">
        <Badge tone="quiet" title={skipWords(last_skip)}>
          Skipped
        </Badge>
        <RelativeTime at={last_skip.at} />
      </span>
    );
  }
  return (
    <span className="flex flex-wrap gap-x-2">
      {last_outcome !== null && <StatusBadge status={last_outcome} />}
      <RelativeTime at={last_run_at} none="Not yet" />
    </span>
  );
}

function Toggle({ schedule, acts }: { schedule: Schedule; acts: Acts }) {
  const toggle = useToggle(schedule, acts);
  return <Switch label={`${schedule.name} is on`} hideLabel on={toggle.on} disabled={toggle.isBusy} onChange={toggle.set} />;
}

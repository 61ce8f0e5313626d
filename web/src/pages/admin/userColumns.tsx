import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { User } from "~/api/client";
import { counted } from "~/lib/format";
import { Button } from "~/ui/Button";
import { type Columns, createColumnHelper } from "~/ui/columns";
import { Meter } from "~/ui/Meter";
import { RelativeTime } from "~/ui/RelativeTime";
import { Select } from "~/ui/Select";
import { Skeleton } from "~/ui/Skeleton";
import { toast, toastProblem } from "~/ui/Toasts";

import { changeUser, NO_PLAN } from "./acts";

type Usage = User["usage"];

const column = createColumnHelper<User>();

export function columnsFor(plans: readonly string[], onEdit: (user: User) => void): Columns<User> {
  return [
    column.accessor("name", {
      header: "Name",
      enableSorting: true,
      cell: ({ row: { original } }) => <p className="max-w-24 truncate sm:max-w-56 font-medium">{original.name}</p>,
    }),
    column.display({
      id: "plan",
      header: "Plan",
      cell: ({ row: { original } }) => <PlanSelect user={original} plans={plans} />,
    }),
    column.display({ id: "now", header: "Now", meta: { wide: true }, cell: ({ row: { original } }) => <Now usage={original.usage} /> }),
    column.display({ id: "hours", header: "Hours this month", meta: { wide: true }, cell: ({ row: { original } }) => <Hours name={original.name} usage={original.usage} /> }),
    column.accessor("created_at", { header: "Since", meta: { large: true }, cell: ({ getValue }) => <RelativeTime at={getValue()} /> }),
    column.display({
      id: "actions",
      header: () => <span className="sr-only">Actions</span>,
      meta: { align: "right" },
      cell: ({ row: { original } }) => (
        <div className="inline-flex items-center gap-3">
          <Link to="/admin/keys" search={{ of: original.id }} className="text-accent hover:underline max-sm:hidden">
            Keys
          </Link>
          <Button
            aria-label={`Limits of ${original.name}`}
            onClick={() => {
              onEdit(original);
            }}
          >
            Limits…
          </Button>
        </div>
      ),
    }),
  ];
}

function PlanSelect({ user, plans }: { user: User; plans: readonly string[] }) {
  const client = useQueryClient();
  const before = user.plan ?? null;
  const change = (plan: string | null) => changeUser(client, user.id, { plan });
  return (
    <Select
      label={`Plan of ${user.name}`}
      hideLabel
      className="min-w-28 sm:w-36"
      value={before ?? NO_PLAN}
      options={[{ value: NO_PLAN, label: "No plan" }, ...plans.map((plan) => ({ value: plan, label: plan }))]}
      onChange={(chosen) => {
        const plan = chosen === NO_PLAN ? null : chosen;
        change(plan).then(() => {
          toast(plan === null ? `${user.name} has no plan now.` : `${user.name} is on the plan ${plan}.`, {
            undo: () => change(before),
          });
        }, toastProblem);
      }}
    />
  );
}

function Now({ usage }: { usage: Usage }) {
  if (usage == null) return <Skeleton />;
  const most = usage.max_concurrent == null ? "" : ` of ${String(usage.max_concurrent)}`;
  return `${String(usage.running)}${most} running, ${counted(usage.pending, "waits", "wait")}`;
}

function Hours({ name, usage }: { name: string; usage: Usage }) {
  if (usage == null) return <Skeleton />;
  const [used, most] = [usage.monthly_hours_used, usage.monthly_hours_limit ?? null];
  return (
    <div className="w-36">
      <Meter
        label={`Hours of ${name}`}
        hideLabel
        warns
        value={used}
        max={most}
        text={most === null ? `${tenths(used)} h, no limit` : `${tenths(used)} of ${String(most)} h`}
      />
    </div>
  );
}

function tenths(hours: number): string {
  return hours > 0 && hours < 0.1 ? "< 0.1" : String(Math.round(hours * 10) / 10);
}

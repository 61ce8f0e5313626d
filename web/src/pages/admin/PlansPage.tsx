import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "~/api/client";
import { plansQuery, usersQuery } from "~/api/queries/people";
import { count, counted } from "~/lib/format";
import { EmptyState } from "~/ui/EmptyState";
import { LevelBadge } from "~/ui/LevelBadge";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";

import { LIMITS } from "./limits";

type Plan = Schemas["PlanAnswer"];

/** Side by side: what differs between two plans is what one looks for. */
export default function PlansPage() {
  const plans = useQuery(plansQuery);
  return (
    <>
      <PageHeader title="Plans">
        They are set in the hub&apos;s configuration file, under <code className="font-mono text-xs">[plans]</code>; a change there takes
        effect without a restart.
      </PageHeader>
      <Panel flush>
        <Loaded query={plans}>
          {(rows) =>
            rows.length === 0 ? <EmptyState title="No plans">Without one, everybody has as much as there is.</EmptyState> : <Compared plans={rows} />
          }
        </Loaded>
      </Panel>
    </>
  );
}

function Compared({ plans }: { plans: readonly Plan[] }) {
  const users = useQuery(usersQuery);
  return (
    <div role="region" tabIndex={0} aria-label="Plans" className="overflow-x-auto -outline-offset-2">
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-b border-line">
            <td className="h-10 px-3" />
            {plans.map((plan) => (
              <th key={plan.name} scope="col" className="px-3 py-1.5 font-semibold whitespace-nowrap">
                {plan.name}
                <p className="font-normal text-ink-2">
                  {counted(users.data?.filter((user) => user.plan === plan.name).length ?? 0, "user")}
                </p>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {LIMITS.map(({ key, label }) => (
            <tr key={key} className="border-b border-line">
              <th scope="row" className="h-9 px-3 font-normal whitespace-nowrap text-ink-2">
                {label}
              </th>
              {plans.map((plan) => (
                <td key={plan.name} className="px-3">
                  {limit(plan[key])}
                </td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row" className="h-9 px-3 font-normal whitespace-nowrap text-ink-2">
              Highest priority
            </th>
            {plans.map((plan) => (
              <td key={plan.name} className="px-3">
                <LevelBadge level={plan.max_priority ?? "critical"} />
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function limit(value: number | null | undefined) {
  return value == null ? <span className="text-ink-3">no limit</span> : count(value);
}

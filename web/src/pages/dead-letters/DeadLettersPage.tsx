import { useQuery } from "@tanstack/react-query";
import { Inbox } from "lucide-react";
import { useState } from "react";

import { useIsAdmin } from "~/api/queries/session";
import { patternsQuery } from "~/api/queries/yard";
import { useFilters } from "~/lib/filters";
import { counted } from "~/lib/format";
import { useWhose } from "~/lib/whose";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";

import { RecentVerdicts } from "./History";
import type { FailurePattern } from "./PatternHead";
import { Patterns } from "./Patterns";
import { type Meant, VerdictDialog } from "./VerdictDialog";

export default function DeadLettersPage() {
  const whose = useWhose();
  const isAdmin = useIsAdmin();
  const [filters, change] = useFilters();
  const patterns = useQuery(patternsQuery(whose));
  const [meant, setMeant] = useState<Meant | null>(null);
  const close = () => {
    setMeant(null);
  };
  return (
    <>
      <PageHeader title="Dead letters">{saidOf(patterns.data)}</PageHeader>
      <Loaded query={patterns}>
        {(found) =>
          found.length === 0 ? (
            <Panel>
              <EmptyState icon={<Inbox />} title="No dead letters">
                Nothing has failed for good. A task comes here when no attempt is left, and waits for somebody to decide about it.
              </EmptyState>
            </Panel>
          ) : (
            <Patterns
              patterns={found}
              openId={filters.pattern}
              onOpen={(pattern) => {
                change({ pattern });
              }}
              onDecide={setMeant}
            />
          )
        }
      </Loaded>
      {isAdmin && <RecentVerdicts />}
      <VerdictDialog meant={meant} whose={whose} onClose={close} onDone={close} />
    </>
  );
}

function saidOf(patterns: readonly FailurePattern[] | undefined): string | undefined {
  if (patterns === undefined || patterns.length === 0) return undefined;
  const tasks = patterns.reduce((sum, pattern) => sum + pattern.count, 0);
  const ways = patterns.length === 1 ? "all in the same way" : `in ${String(patterns.length)} ways`;
  return `${counted(tasks, "task")} failed for good, ${ways}. Decide about one, or about all that failed alike.`;
}

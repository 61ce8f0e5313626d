import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { taskQuery, taskWhyQuery } from "~/api/queries/tasks";
import { useFilters } from "~/lib/filters";
import { CopyId } from "~/ui/CopyId";
import { JsonView } from "~/ui/JsonView";
import { Loaded } from "~/ui/Loaded";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { StatusBadge } from "~/ui/StatusBadge";
import { titleOf } from "~/words";

export default function TaskPage() {
  const { id = "" } = useParams({ strict: false });
  const [{ user }] = useFilters();
  const whose = user === undefined ? {} : { user };
  const task = useQuery(taskQuery(id, whose));
  const why = useQuery(taskWhyQuery(id, whose));
  return (
    <Loaded query={task}>
      {(found) => (
        <>
          <PageHeader title={titleOf(found)} name={`${found.ref} ${titleOf(found)}`}>
            <span className="flex flex-wrap items-center gap-3">
              <StatusBadge status={found.status} />
              <CopyId value={found.id} label="the task's id" shown={found.ref} />
            </span>
          </PageHeader>
          <div className="flex flex-col gap-4">
            <Panel title="Why">
              <Loaded query={why}>{(said) => <p>{said.summary}</p>}</Loaded>
            </Panel>
            <Panel title="Input">
              <JsonView label="Input" value={found.input} />
            </Panel>
          </div>
        </>
      )}
    </Loaded>
  );
}

import type { Schemas, Task } from "~/api/client";
import type { Whose } from "~/lib/whose";
import { JsonView } from "~/ui/JsonView";
import { ExactTime } from "~/ui/RelativeTime";
import { Sentence } from "~/ui/Sentence";

import { isFilled, Titled } from "./Titled";

type Passed = Schemas["ContextInput"];

/** Everything that an agent is given with it. */
export function GivenPanel({ task, whose }: { task: Task; whose: Whose }) {
  const passed = task.context_input ?? [];
  return (
    <div className="flex flex-col gap-5 p-4">
      <Titled title="Input">
        <JsonView label="Input" value={task.input} />
      </Titled>
      {task.goal !== null && (
        <Titled title="Goal">
          <p className="whitespace-pre-wrap">{task.goal}</p>
        </Titled>
      )}
      {task.constraints.length > 0 && (
        <Titled title="What must hold">
          <ul className="list-disc pl-5">
            {task.constraints.map((one, index) => (
              <li key={index}>{one}</li>
            ))}
          </ul>
        </Titled>
      )}
      {isFilled(task.payload) && (
        <Titled title="Payload">
          <JsonView label="Payload" value={task.payload} />
        </Titled>
      )}
      {isFilled(task.context) && (
        <Titled title="Context">
          <JsonView label="Context" value={task.context} />
        </Titled>
      )}
      {passed.length > 0 && (
        <Titled title="Passed on" note="by the tasks it waited for, and by the hub about earlier attempts">
          <ul className="flex flex-col gap-3">
            {passed.map((one, index) => (
              <PassedOn key={index} passed={one} whose={whose} />
            ))}
          </ul>
        </Titled>
      )}
      {isFilled(task.metadata) && (
        <Titled title="Metadata" note="for others; no agent reads it">
          <JsonView label="Metadata" value={task.metadata} />
        </Titled>
      )}
    </div>
  );
}

function PassedOn({ passed, whose }: { passed: Passed; whose: Whose }) {
  const from = passed.ref ?? passed.source_task;
  return (
    <li className="flex flex-col gap-1.5 border-l-2 border-line-strong pl-3">
      <p className="flex flex-wrap gap-x-2">
        <span className="font-medium">
          <Sentence text={from ?? "From the hub"} whose={whose} />
        </span>
        {passed.result_status != null && <span className="text-ink-2">{passed.result_status}</span>}
        {passed.included_at != null && (
          <span className="text-ink-3">
            <ExactTime at={passed.included_at} />
          </span>
        )}
      </p>
      {[passed.note, passed.warning, passed.result_summary].map(
        (said, index) => said != null && said !== "" && <p key={index} className="whitespace-pre-wrap text-ink-2">{said}</p>,
      )}
      {isFilled(passed.result) && <JsonView label={`Result of ${from ?? "the hub"}`} value={passed.result} />}
    </li>
  );
}

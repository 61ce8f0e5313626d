import { useState } from "react";

import type { Task } from "~/api/client";
import type { Whose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { EmptyState } from "~/ui/EmptyState";
import { Loaded } from "~/ui/Loaded";
import { RelativeTime } from "~/ui/RelativeTime";

import { dataWords, eventWords, stepWords, type TaskEvent } from "./said";
import { useEvents } from "./useTask";

const SHOWN_MAX = 100;

/** Everything the hub wrote down about it, newest first. */
export function EventsPanel({ task, whose }: { task: Task; whose: Whose }) {
  const events = useEvents(task, whose);
  return <Loaded query={events}>{(told) => <Events events={told} />}</Loaded>;
}

function Events({ events }: { events: readonly TaskEvent[] }) {
  const [isWhole, setIsWhole] = useState(false);
  if (events.length === 0) {
    return (
      <EmptyState title="No events are left">The hub keeps them for a while; what became of the task is above.</EmptyState>
    );
  }
  const shown = events.toReversed().slice(0, isWhole ? undefined : SHOWN_MAX);
  return (
    <>
      <ol aria-label="Events" className="divide-y divide-line">
        {shown.map((event, index) => (
          <Row key={event.id ?? index} event={event} />
        ))}
      </ol>
      {shown.length < events.length && (
        <Button
          look="bare"
          className="m-2"
          onClick={() => {
            setIsWhole(true);
          }}
        >
          {`Show all ${String(events.length)}`}
        </Button>
      )}
    </>
  );
}

function Row({ event }: { event: TaskEvent }) {
  const [step, data] = [stepWords(event), dataWords(event.data)];
  return (
    <li className="flex flex-wrap items-baseline gap-x-4 gap-y-0.5 px-4 py-1.5">
      <span className="w-24 shrink-0 text-ink-3">
        <RelativeTime at={event.at} />
      </span>
      <span className="font-medium" title={event.event}>
        {eventWords(event)}
      </span>
      {step !== null && <span className="text-ink-2">{step}</span>}
      {event.attempt !== null && <span className="text-ink-3">{`attempt ${String(event.attempt)}`}</span>}
      {data !== "" && <span className="min-w-0 text-ink-3">{data}</span>}
    </li>
  );
}

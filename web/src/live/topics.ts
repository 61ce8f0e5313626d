/** Which topics an event touches: what is shown of them is fetched anew. */

import type { Topic } from "~/api/keys";

import type { LiveEvent } from "./stream";

/** Told while a task works, and of nothing that a list or a figure shows. */
const SOFT = new Set(["task.progress", "task.log"]);

const BY_FAMILY: Record<string, readonly Topic[]> = {
  task: ["tasks", "why", "held", "queues", "daemons", "schedules", "figures", "limits"],
  daemon: ["daemons", "why", "held", "figures"],
  queue: ["queues", "why", "held", "figures"],
  breaker: ["breakers", "why", "held", "figures"],
  backpressure: ["figures"],
  schedule: ["schedules"],
  settings: ["queues", "people", "limits", "why"],
  notification: ["notifications"],
};

const ALSO: Partial<Record<LiveEvent["event"], readonly Topic[]>> = {
  "task.permanently_failed": ["dead-letters", "breakers"],
  "task.retrying": ["dead-letters", "breakers"],
  "task.failed": ["breakers"],
  "task.reviewed": ["dead-letters", "audit"],
  "task.queued": ["dead-letters"],
  "task.cancelled": ["audit"],
};

export function topicsOf(events: readonly LiveEvent[]): Set<Topic> {
  const touched = new Set<Topic>();
  for (const { event } of events) {
    if (SOFT.has(event)) continue;
    const family = event.slice(0, event.indexOf("."));
    for (const topic of BY_FAMILY[family] ?? []) touched.add(topic);
    for (const topic of ALSO[event] ?? []) touched.add(topic);
  }
  return touched;
}

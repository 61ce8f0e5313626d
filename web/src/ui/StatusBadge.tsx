import type { Status } from "~/api/client";
import { STATUS } from "~/words";

import { Badge } from "./Badge";

export function StatusBadge({ status }: { status: Status }) {
  const { label, tone, means } = STATUS[status];
  return (
    <Badge tone={tone} title={means} pulses={status === "running"}>
      {label}
    </Badge>
  );
}

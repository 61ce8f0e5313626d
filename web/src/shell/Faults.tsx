import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { MapPinOff } from "lucide-react";

import { EmptyState } from "~/ui/EmptyState";
import { ErrorState } from "~/ui/ErrorState";

/** A fault in one page leaves the navigation alone. */
export function PageFault({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={reset} />;
}

export function PageNotFound() {
  return (
    <EmptyState
      icon={<MapPinOff />}
      title="There is no such page"
      action={
        <Link to="/" className="font-medium text-accent hover:underline">
          Go to the overview
        </Link>
      }
    >
      The address may be mistyped, or from another version of Taskyard.
    </EmptyState>
  );
}

import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { Lock, MapPinOff } from "lucide-react";

import { EmptyState } from "~/ui/EmptyState";
import { ErrorState } from "~/ui/ErrorState";
import { PageHeader } from "~/ui/PageHeader";

/** A fault in one page leaves the navigation alone. */
export function PageFault({ error, reset }: ErrorComponentProps) {
  return <ErrorState error={error} onRetry={reset} />;
}

export function ForAdmins({ title }: { title: string }) {
  return (
    <>
      <PageHeader title={title} />
      <EmptyState icon={<Lock />} title="This page is for admins">
        Your key may not see it. Sign in with one that has the scope admin, or ask an admin.
      </EmptyState>
    </>
  );
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

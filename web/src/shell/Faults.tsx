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

/** Keys of daemons and agents open hardly anything here; half a page of refusals would look like a fault. */
export function ForPeople() {
  return (
    <>
      <PageHeader title="Signed in" />
      <EmptyState icon={<Lock />} title="This key is for a program">
        It may run or report work, not look at it. Sign out, at the top right, and sign in with a key that has the scope tasks.
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

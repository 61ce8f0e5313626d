/** What schedules do and did, in sentences. */

import type { Schemas } from "~/api/client";

export const CATCH_UP: Record<Schemas["CatchUp"], { label: string; means: string }> = {
  one: { label: "Make up the newest", means: "If runs were missed while the hub was away, the newest of them is made up." },
  none: { label: "Leave them out", means: "Runs that were missed while the hub was away are left out, and the history says so." },
  all: { label: "Make up all of them", means: "Every run that was missed while the hub was away is made up, one after the other." },
};

export const OVERLAP = "A run that is due while the previous one is still going is skipped, and the history says so.";

const SKIPPED: Record<Schemas["SkipReason"], string> = {
  missed: "The hub was away when it was due.",
  too_late: "It came later than the schedule allows.",
  unfinished: "The run before it was still going on.",
  refused: "The hub did not take its task",
  probe_said_no: "Its probe said no.",
  probe_failed: "Its probe failed.",
  probe_timed_out: "Its probe did not answer in time.",
  changed: "The schedule was changed while its probe was asked.",
};

export function skipWords({ reason, code }: { reason: Schemas["SkipReason"]; code: string | null }): string {
  const said = SKIPPED[reason];
  if (reason !== "refused") return said;
  return code === null ? `${said}.` : `${said}: ${code}.`;
}

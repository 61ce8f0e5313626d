import { CircleAlert } from "lucide-react";

import { asProblem, type Problem } from "~/api/problem";
import { cx } from "~/lib/classes";
import { TRY_AGAIN } from "~/words";

import { Button } from "./Button";
import { Sentence } from "./Sentence";

function advice(problem: Problem): string {
  if (problem.isForbidden) return "Sign in with a key that may see this, or ask an admin for one.";
  if (problem.isNotFound) return "It may have been removed, or it belongs to somebody else.";
  if (problem.isPassing) return "This usually goes away by itself; the page looks again as soon as the hub answers.";
  return "If it stays, tell whoever runs this hub what stands here.";
}

interface Props {
  error: unknown;
  onRetry?: () => void;
}

/** What went wrong, in the hub's own words, and what to do about it. */
export function ErrorState({ error, onRetry }: Props) {
  const problem = asProblem(error);
  return (
    <div role="alert" className="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <CircleAlert aria-hidden className={cx("size-6", problem.isNotFound ? "text-ink-3" : "text-failed")} />
      <p className="text-base font-medium">{problem.title}</p>
      <p className="max-w-md text-ink-2">
        <Sentence text={problem.message} />
      </p>
      <p className="max-w-md text-ink-3">{advice(problem)}</p>
      {onRetry !== undefined && !problem.isNotFound && !problem.isForbidden && (
        <Button className="mt-2" onClick={onRetry}>
          {TRY_AGAIN}
        </Button>
      )}
      <p className="font-mono text-xs text-ink-3">{problem.code}</p>
    </div>
  );
}

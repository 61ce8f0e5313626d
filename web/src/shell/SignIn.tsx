import { type SubmitEvent, useState } from "react";

import { useSignIn } from "~/api/queries/session";
import { asProblem, type Problem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { Field } from "~/ui/Field";

import { Brand } from "./Brand";
import { ThemeToggle } from "./ThemeToggle";

/** Shown at whatever address was asked for: after signing in, that page is there. */
export function SignIn() {
  const [key, setKey] = useState("");
  const signIn = useSignIn();

  function send(event: SubmitEvent) {
    event.preventDefault();
    signIn.mutate(key.trim(), {
      // The key is in memory for no longer than it takes.
      onSettled: () => {
        setKey("");
      },
    });
  }

  return (
    <main className="flex min-h-dvh flex-col items-center justify-center gap-6 p-4">
      <title>Sign in · Taskyard</title>
      <div className="absolute top-3 right-3">
        <ThemeToggle />
      </div>
      <div className="flex w-full max-w-sm flex-col gap-6 rounded-lg border border-line bg-surface p-6 sm:p-8">
        <Brand />
        <div>
          <h1 className="text-xl font-semibold tracking-tight">Sign in</h1>
          <p className="mt-1 text-ink-2">
            With a key, or by a link: <code className="font-mono text-xs">taskyard dashboard</code> prints one.
          </p>
        </div>
        <form onSubmit={send} className="flex flex-col gap-4">
          <Field
            label="Key"
            type="password"
            name="key"
            autoComplete="off"
            spellCheck={false}
            placeholder="tyk_…"
            required
            value={key}
            error={signIn.error === null ? undefined : refusal(asProblem(signIn.error))}
            onChange={(event) => {
              setKey(event.target.value);
            }}
          />
          <Button type="submit" look="primary" busy={signIn.isPending} disabled={key.trim() === ""}>
            Sign in
          </Button>
        </form>
        <p className="text-ink-3">The key is sent once and not kept by this browser.</p>
      </div>
    </main>
  );
}

/** The hub's own sentence is for programs: it speaks of headers. */
function refusal(problem: Problem): string {
  return problem.isSignedOut ? "This key is not known here, or has ended. Check it, or ask an admin for a new one." : problem.message;
}

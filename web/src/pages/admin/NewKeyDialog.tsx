import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "~/api/client";
import { asProblem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { CopyId } from "~/ui/CopyId";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";

import { refresh } from "./acts";

type Scope = Schemas["Scope"];

const SCOPES: readonly { scope: Scope; means: string }[] = [
  { scope: "tasks", means: "submit tasks and see their own" },
  { scope: "daemon", means: "run tasks as a daemon" },
  { scope: "agent", means: "what an agent at work may do" },
  { scope: "admin", means: "everything, of everybody" },
];

interface Props {
  userId: string;
  owner: string;
  onClose: () => void;
}

export function NewKeyDialog({ userId, owner, onClose }: Props) {
  const client = useQueryClient();
  const making = useMutation({
    mutationFn: async (body: Schemas["NewKey"]) => {
      const made = await answer(api.POST("/api/v1/users/{id}/keys", { params: { path: { id: userId } }, body }));
      await refresh(client);
      return made;
    },
  });
  if (making.data !== undefined) return <Made made={making.data} owner={owner} onClose={onClose} />;
  return (
    <Asked
      owner={owner}
      busy={making.isPending}
      error={making.error === null ? undefined : asProblem(making.error).message}
      onMake={making.mutate}
      onClose={onClose}
    />
  );
}

interface AskedProps {
  owner: string;
  busy: boolean;
  error: string | undefined;
  onMake: (body: Schemas["NewKey"]) => void;
  onClose: () => void;
}

function Asked({ owner, busy, error, onMake, onClose }: AskedProps) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["tasks"]);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`New key for ${owner}`}
      footer={
        <Button
          look="primary"
          busy={busy}
          disabled={name.trim() === "" || scopes.length === 0}
          onClick={() => {
            onMake({ name: name.trim(), scopes: [...scopes] });
          }}
        >
          Make the key
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Field
          label="Name"
          hint="What it is for, so that you know later which one to revoke."
          value={name}
          placeholder="laptop"
          error={error}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 font-medium">It may</legend>
          {SCOPES.map(({ scope, means }) => (
            <label key={scope} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="size-4 accent-accent"
                checked={scopes.includes(scope)}
                onChange={({ target }) => {
                  setScopes(target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope));
                }}
              />
              <span className="w-16 font-mono text-xs">{scope}</span>
              <span className="text-ink-2">{means}</span>
            </label>
          ))}
        </fieldset>
      </div>
    </Dialog>
  );
}

function Made({ made, owner, onClose }: { made: Schemas["IssuedKey"]; owner: string; onClose: () => void }) {
  return (
    <Dialog
      open
      // A stray press must not lose what is never shown again.
      onClose={() => undefined}
      title={`The key ${made.name}`}
      footer={
        <Button look="primary" onClick={onClose}>
          I have saved it
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <p>Copy it now. It is not shown again, here or anywhere; if it gets lost, make another.</p>
        <div className="overflow-x-auto rounded-md bg-sunken px-2 py-2">
          <CopyId value={made.key} label="the key" />
        </div>
        <p className="text-ink-2">
          {owner} uses it as <code className="font-mono text-xs">TASKYARD_KEY</code>, or signs in here with it.
        </p>
      </div>
    </Dialog>
  );
}

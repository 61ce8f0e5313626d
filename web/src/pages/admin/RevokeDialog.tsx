import { useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "~/api/client";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { toast } from "~/ui/Toasts";

import { refresh } from "./acts";

interface Props {
  of: Schemas["KeyAnswer"];
  onClose: () => void;
}

export function RevokeDialog({ of: key, onClose }: Props) {
  const client = useQueryClient();
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={`Revoke ${key.name}`}
      action="Revoke the key"
      look="danger"
      onConfirm={async () => {
        await answer(api.DELETE("/api/v1/keys/{id}", { params: { path: { id: key.id } } }));
        await refresh(client);
        toast(`The key ${key.name} opens nothing any more.`);
      }}
    >
      <p>Whatever uses it is cut off at once: programs, daemons, and browsers that signed in with it.</p>
      <p className="text-ink-2">This cannot be taken back. Work that its daemons run goes on, and is told once they have another key.</p>
    </ConfirmDialog>
  );
}

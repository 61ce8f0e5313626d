import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { asProblem } from "~/api/problem";
import { useMe } from "~/api/queries/session";
import { useWhoseOwn } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";
import { toast } from "~/ui/Toasts";

import { close, open } from "./acts";

/** Opens a breaker by hand, before more of its tasks fail. */
export function HoldDialog({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const owner = useWhoseOwn().user ?? me.id;
  const [type, setType] = useState("");
  const named = { type: type.trim(), user_id: owner };
  const opening = useMutation({
    mutationFn: () => open(named),
    onSuccess: () => {
      toast(`Tasks of the type ${named.type} are held back.`, { undo: () => close(named) });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Hold a type of task back"
      footer={
        <Button
          look="primary"
          busy={opening.isPending}
          disabled={named.type === ""}
          onClick={() => {
            opening.mutate();
          }}
        >
          Hold it back
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <p>None of its tasks starts for as long as its cool-down takes; then one tries. What runs goes on.</p>
        <Field
          label="Type of task"
          value={type}
          placeholder="report"
          error={opening.error === null ? undefined : asProblem(opening.error).message}
          onChange={(event) => {
            setType(event.target.value);
          }}
        />
      </div>
    </Dialog>
  );
}

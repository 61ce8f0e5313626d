import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "~/api/client";
import { asProblem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field } from "~/ui/Field";
import { Select } from "~/ui/Select";
import { toast } from "~/ui/Toasts";

import { NO_PLAN, refresh } from "./acts";

interface Props {
  plans: readonly string[];
  onClose: () => void;
}

export function NewUserDialog({ plans, onClose }: Props) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [plan, setPlan] = useState(NO_PLAN);
  const adding = useMutation({
    mutationFn: async () => {
      await answer(api.POST("/api/v1/users", { body: { name: name.trim(), plan: plan === NO_PLAN ? null : plan } }));
      await refresh(client);
    },
    onSuccess: () => {
      toast(`${name.trim()} is a user now. To let them in, make a key for them.`);
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="New user"
      footer={
        <Button
          look="primary"
          busy={adding.isPending}
          disabled={name.trim() === ""}
          onClick={() => {
            adding.mutate();
          }}
        >
          Add
        </Button>
      }
    >
      <div className="flex flex-col gap-4">
        <Field
          label="Name"
          hint="How commands and tokens call them; it can be changed later."
          value={name}
          error={adding.error === null ? undefined : asProblem(adding.error).message}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
        <Select
          label="Plan"
          value={plan}
          options={[{ value: NO_PLAN, label: "No plan" }, ...plans.map((one) => ({ value: one, label: one }))]}
          onChange={setPlan}
        />
      </div>
    </Dialog>
  );
}

import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { answer, api } from "~/api/client";
import { asProblem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { TextArea } from "~/ui/Field";
import { PageHeader } from "~/ui/PageHeader";
import { Panel } from "~/ui/Panel";
import { toast } from "~/ui/Toasts";

export default function AddPage() {
  const navigate = useNavigate();
  const [input, setInput] = useState("");
  const adding = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/tasks", { body: { input } })),
    onSuccess: (task) => {
      toast(`${task.ref} was added.`);
      void navigate({ to: "/tasks/$id", params: { id: task.id } });
    },
  });
  return (
    <>
      <PageHeader title="Add task" />
      <Panel>
        <form
          className="flex max-w-2xl flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            adding.mutate();
          }}
        >
          <TextArea
            label="What is to be done"
            required
            value={input}
            error={adding.error === null ? undefined : asProblem(adding.error).message}
            onChange={(event) => {
              setInput(event.target.value);
            }}
          />
          <div>
            <Button type="submit" look="primary" busy={adding.isPending} disabled={input.trim() === ""}>
              Add task
            </Button>
          </div>
        </form>
      </Panel>
    </>
  );
}

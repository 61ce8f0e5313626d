import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Queue } from "~/api/client";
import { asProblem } from "~/api/problem";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field, TextArea } from "~/ui/Field";
import { Refusal } from "~/ui/Refusal";
import { toast } from "~/ui/Toasts";

export const NEW: Queue = { name: "", models: [], max_concurrent: null, state: "open", until: null, waiting: 0, running: 0 };

interface Props {
  queue: Queue;
  onClose: () => void;
}

/** What a queue serves and how much of it at a time. What is set here wins over the hub's file, until it is removed. */
export function QueueDialog({ queue, onClose }: Props) {
  const client = useQueryClient();
  const isNew = queue.name === "";
  const [name, setName] = useState(queue.name);
  const [models, setModels] = useState(queue.models.join("\n"));
  const [most, setMost] = useState(queue.max_concurrent?.toString() ?? "");

  const done = (said: string) => {
    void client.invalidateQueries({ queryKey: ["queues"] });
    toast(said);
    onClose();
  };
  const saving = useMutation({
    mutationFn: () =>
      answer(
        api.PUT("/api/v1/queues/{id}", {
          params: { path: { id: name.trim() } },
          body: { models: lines(models), max_concurrent: most.trim() === "" ? null : Number(most) },
        }),
      ),
    onSuccess: () => {
      done(`${name} is as you set it.`);
    },
  });
  const removing = useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/queues/{id}", { params: { path: { id: queue.name } } })),
    onSuccess: () => {
      done(`${queue.name} is as the hub's configuration file has it again.`);
    },
  });
  const problem = saving.error ?? removing.error;
  return (
    <Dialog
      open
      onClose={onClose}
      title={isNew ? "New queue" : `Queue ${queue.name}`}
      footer={
        <>
          {!isNew && (
            <Button
              className="mr-auto"
              busy={removing.isPending}
              title="Removes what was set here; what the file says holds again."
              onClick={() => {
                removing.mutate();
              }}
            >
              As the file says
            </Button>
          )}
          <Button
            look="primary"
            busy={saving.isPending}
            disabled={name.trim() === ""}
            onClick={() => {
              saving.mutate();
            }}
          >
            Save
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {isNew && (
          <Field
            label="Name"
            value={name}
            placeholder="cloud"
            error={problem === null ? undefined : asProblem(problem).of("name")}
            onChange={(event) => {
              setName(event.target.value);
            }}
          />
        )}
        <TextArea
          label="Models"
          hint="One a line. Tasks that ask for one of them wait here."
          value={models}
          error={problem === null ? undefined : asProblem(problem).of("models")}
          onChange={(event) => {
            setModels(event.target.value);
          }}
        />
        <Field
          label="At a time, at most"
          type="number"
          min={1}
          hint="Leave it empty for the usual: one, or no limit for the default queue."
          value={most}
          error={problem === null ? undefined : asProblem(problem).of("max_concurrent")}
          onChange={(event) => {
            setMost(event.target.value);
          }}
        />
        {problem !== null && <Refusal text={asProblem(problem).message} />}
      </div>
    </Dialog>
  );
}

function lines(text: string): string[] {
  return [...new Set(text.split("\n").map((line) => line.trim()))].filter((line) => line !== "");
}

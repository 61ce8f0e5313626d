import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { asProblem } from "~/api/problem";

import { Button } from "./Button";
import { Dialog } from "./Dialog";
import { TextArea } from "./Field";
import { Refusal } from "./Refusal";

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  /** What will happen, and to how many. */
  children: ReactNode;
  /** The verb itself: "Cancel 12 tasks", not "OK". */
  action: string;
  look?: "primary" | "danger";
  /** Ask why, where the hub keeps it. */
  reason?: "optional" | "required";
  /** It closes when this is done; what it throws is shown and nothing closes. */
  onConfirm: (reason: string) => Promise<unknown>;
  disabled?: boolean;
}

export function ConfirmDialog({ open, onClose, ...rest }: Props) {
  return open ? <Asking onClose={onClose} {...rest} /> : null;
}

function Asking({ onClose, title, children, action, look = "primary", reason, onConfirm, disabled }: Omit<Props, "open">) {
  const [why, setWhy] = useState("");
  const doing = useMutation({ mutationFn: () => onConfirm(why.trim()), onSuccess: onClose });
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Keep as it is</Button>
          <Button
            look={look}
            busy={doing.isPending}
            disabled={disabled === true || (reason === "required" && why.trim() === "")}
            onClick={() => {
              doing.mutate();
            }}
          >
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <div className="flex flex-col gap-2">{children}</div>
        {reason !== undefined && (
          <TextArea
            label={reason === "required" ? "Reason" : "Reason (optional)"}
            hint="Kept with what you did, for whoever asks later."
            rows={2}
            value={why}
            onChange={(event) => {
              setWhy(event.target.value);
            }}
          />
        )}
        {doing.error !== null && <Refusal text={asProblem(doing.error).message} />}
      </div>
    </Dialog>
  );
}

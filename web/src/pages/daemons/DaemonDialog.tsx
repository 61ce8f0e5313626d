import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { answer, api, type Daemon } from "~/api/client";
import { may, useMe } from "~/api/queries/session";
import { counted, percent } from "~/lib/format";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { ConfirmDialog } from "~/ui/ConfirmDialog";
import { CopyId } from "~/ui/CopyId";
import { Dialog } from "~/ui/Dialog";
import { RelativeTime } from "~/ui/RelativeTime";
import { toast, toastProblem } from "~/ui/Toasts";
import { DAEMON } from "~/words";

import { memory } from "./memory";

interface Props {
  daemon: Daemon;
  onClose: () => void;
}

/** All there is to know of one daemon, and what can be done with it. */
export function DaemonDialog({ daemon, onClose }: Props) {
  const [draining, setDraining] = useState(false);
  const [forgetting, setForgetting] = useState(false);
  const word = DAEMON[daemon.status];
  return (
    <>
      <Dialog
        open
        onClose={onClose}
        title={daemon.name}
        wide
        footer={<Actions daemon={daemon} onDrain={setDraining} onForget={setForgetting} />}
      >
        <dl className="grid grid-cols-[max-content_1fr] gap-x-6 gap-y-2">
          <Fact name="Status">
            <Badge tone={word.tone}>{word.label}</Badge>
          </Fact>
          {daemon.idle_because != null && <Fact name={daemon.active_tasks === 0 ? "Idle because" : "Not full because"}>{daemon.idle_because}</Fact>}
          <Fact name="Runs now">
            <Running daemon={daemon} />
          </Fact>
          <Fact name="Slots">
            {daemon.active_tasks} of {daemon.max_concurrent_tasks} in use
          </Fact>
          <Fact name="Machine">
            load {percent(daemon.current_load)}, {memory(daemon.memory_free_mb)} of memory free
          </Fact>
          <Fact name="Can do">{listed(daemon.capabilities, "nothing in particular")}</Fact>
          <Fact name="Models">{listed(daemon.models, "none named: tasks that ask for a model go elsewhere")}</Fact>
          <Fact name="Types of task">{listed(daemon.types, "all")}</Fact>
          <Fact name="For whom">{daemon.shared ? "everybody" : "its owner's tasks only"}</Fact>
          <Fact name="Connected">
            <RelativeTime at={daemon.connected_at} none="not connected" />
          </Fact>
          <Fact name="Last heard from">
            <RelativeTime at={daemon.last_heartbeat} none="never" />
          </Fact>
          <Fact name="Version">{daemon.version}</Fact>
          <Fact name="Id">
            <CopyId value={daemon.id} label="the daemon's id" />
          </Fact>
        </dl>
      </Dialog>
      <ConfirmDialog
        open={draining}
        onClose={() => {
          setDraining(false);
        }}
        title={`Drain ${daemon.name}`}
        action="Drain"
        onConfirm={() => drain(daemon)}
      >
        <p>
          {daemon.active_tasks === 0
            ? "It runs nothing now, and is given nothing new."
            : `It finishes the ${counted(daemon.active_tasks, "task")} it runs, and is given nothing new.`}
        </p>
        <p className="text-ink-2">What waits goes to other daemons. You can take this back at any time.</p>
      </ConfirmDialog>
      <ConfirmDialog
        open={forgetting}
        onClose={() => {
          setForgetting(false);
        }}
        title={`Forget ${daemon.name}`}
        action="Forget"
        look="danger"
        onConfirm={() => forget(daemon)}
      >
        <p>It is not listed any more, and tasks can no longer name it. This cannot be taken back.</p>
        <p className="text-ink-2">If it comes back, it is a new daemon. What it ran stays with the tasks.</p>
      </ConfirmDialog>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}

interface Asked {
  daemon: Daemon;
  onDrain: (asked: boolean) => void;
  onForget: (asked: boolean) => void;
}

function Actions({ daemon, onDrain, onForget }: Asked) {
  const me = useMe();
  if (daemon.user_id !== me.id && !may(me, "admin")) {
    return <p className="mr-auto py-1.5 text-ink-2">Only an admin can drain or forget a daemon that is for everybody.</p>;
  }
  if (daemon.status === "offline") {
    return (
      <>
        <p className="mr-auto py-1.5 text-ink-2">It is away. Start it again on its machine; what it ran is told when it is back.</p>
        <Button
          onClick={() => {
            onForget(true);
          }}
        >
          Forget…
        </Button>
      </>
    );
  }
  if (daemon.status === "draining") {
    return (
      <Button
        onClick={() => {
          resume(daemon).then(() => {
            toast(`${daemon.name} is given work again.`);
          }, toastProblem);
        }}
      >
        Give it work again
      </Button>
    );
  }
  return (
    <Button
      onClick={() => {
        onDrain(true);
      }}
    >
      Drain…
    </Button>
  );
}

function Running({ daemon }: { daemon: Daemon }) {
  const me = useMe();
  const others = daemon.active_tasks - daemon.running.length;
  if (daemon.running.length === 0) return others > 0 ? `${counted(others, "task")} of other users` : "nothing";
  // Whose they are is not told here; an admin's page finds any by its id.
  const search = may(me, "admin") ? { user: "*" } : {};
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1">
      {daemon.running.map(({ task, attempt }) => (
        <li key={task}>
          <Link to="/tasks/$id" params={{ id: task }} search={search} className="font-mono text-xs text-accent hover:underline">
            {task.slice(-8)}
          </Link>
          {attempt > 1 && <span className="text-ink-3"> attempt {attempt}</span>}
        </li>
      ))}
    </ul>
  );
}

function listed(words: readonly string[], none: string) {
  return words.length === 0 ? <span className="text-ink-3">{none}</span> : words.join(", ");
}

async function drain(daemon: Daemon) {
  await answer(api.POST("/api/v1/daemons/{id}/drain", { params: { path: { id: daemon.id }, query: ownerOf(daemon) } }));
  toast(`${daemon.name} is given nothing new.`, { undo: () => resume(daemon) });
}

async function forget(daemon: Daemon) {
  await answer(api.DELETE("/api/v1/daemons/{id}", { params: { path: { id: daemon.id }, query: ownerOf(daemon) } }));
  toast(`${daemon.name} is forgotten.`);
}

function resume(daemon: Daemon) {
  return answer(api.POST("/api/v1/daemons/{id}/resume", { params: { path: { id: daemon.id }, query: ownerOf(daemon) } }));
}

const ownerOf = (daemon: Daemon) => ({ user: daemon.user_id });

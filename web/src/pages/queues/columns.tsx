import { Link } from "@tanstack/react-router";

import { answer, api, type Queue } from "~/api/client";
import { count } from "~/lib/format";
import { Badge } from "~/ui/Badge";
import { Button } from "~/ui/Button";
import { type Columns, createColumnHelper } from "~/ui/columns";
import { Meter } from "~/ui/Meter";
import { RelativeTime } from "~/ui/RelativeTime";
import { toast, toastProblem } from "~/ui/Toasts";
import { QUEUE, STATUS } from "~/words";

const column = createColumnHelper<Queue>();

/** With what an admin can do, or without. */
export function columnsFor(isAdmin: boolean, onEdit: (queue: Queue) => void): Columns<Queue> {
  return isAdmin ? [...SHOWN, actions(onEdit)] : SHOWN;
}

const SHOWN: Columns<Queue> = [
  column.accessor("name", {
    header: "Name",
    enableSorting: true,
    cell: ({ row: { original } }) => (
      <div className="line-clamp-6 max-w-36 break-words sm:max-w-96">
        <p className="font-medium">{original.name}</p>
        <p className="text-ink-2">{original.models.length === 0 ? "every model that no other queue has" : original.models.join(", ")}</p>
        <p className="text-ink-2 sm:hidden">
          {count(original.running)} running, {count(original.waiting)} queued
        </p>
      </div>
    ),
  }),
  column.accessor("state", { header: "State", cell: ({ row: { original } }) => <State queue={original} /> }),
  column.accessor("running", {
    header: "Running, of at most",
    meta: { wide: true },
    cell: ({ row: { original } }) => (
      <div className="w-32">
        <Meter label={`Running in ${original.name}`} hideLabel value={original.running} max={original.max_concurrent} />
      </div>
    ),
  }),
  column.accessor("waiting", {
    header: STATUS.queued.label,
    enableSorting: true,
    meta: { wide: true, align: "right" },
    cell: ({ row: { original } }) => (
      <Link to="/queue" search={{ queue: original.name, status: "queued" }} className="text-accent hover:underline">
        {count(original.waiting)}
      </Link>
    ),
  }),
];

function State({ queue }: { queue: Queue }) {
  const word = QUEUE[queue.state];
  return (
    <div>
      <Badge tone={word.tone}>{word.label}</Badge>
      {queue.state === "cooling" && (
        <p className="text-ink-2">
          {queue.until == null ? "one task tries now" : <>its provider refused; one task tries <RelativeTime at={queue.until} /></>}
        </p>
      )}
    </div>
  );
}

function actions(onEdit: (queue: Queue) => void) {
  return column.display({
    id: "actions",
    header: () => <span className="sr-only">Actions</span>,
    meta: { align: "right" },
    cell: ({ row: { original } }) => (
      <div className="inline-flex gap-1 max-sm:flex-col-reverse max-sm:items-end">
        <Button
          look="bare"
          aria-label={`Edit ${original.name}`}
          onClick={() => {
            onEdit(original);
          }}
        >
          Edit
        </Button>
        {original.state === "paused" ? (
          <Button aria-label={`Resume ${original.name}`} className={SAME_WIDTH} onClick={act(resume, original, "goes on", pause)}>
            Resume
          </Button>
        ) : (
          <Button
            aria-label={`Pause ${original.name}`}
            className={SAME_WIDTH}
            onClick={act(pause, original, "is paused; what runs goes on", resume)}
          >
            Pause
          </Button>
        )}
      </div>
    ),
  });
}

/** One takes the place of the other, and what stands before it stays in line. */
const SAME_WIDTH = "w-20";

type Act = (queue: Queue) => Promise<unknown>;

const pause: Act = ({ name }) => answer(api.POST("/api/v1/queues/{id}/pause", { params: { path: { id: name } } }));
const resume: Act = ({ name }) => answer(api.POST("/api/v1/queues/{id}/resume", { params: { path: { id: name } } }));

function act(done: Act, queue: Queue, said: string, undone: Act) {
  return () => {
    done(queue).then(() => {
      toast(`${queue.name} ${said}.`, { undo: () => undone(queue) });
    }, toastProblem);
  };
}

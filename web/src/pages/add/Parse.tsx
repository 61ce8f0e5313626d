import type { ReactNode } from "react";

import type { Schemas } from "~/api/client";
import { cx } from "~/lib/classes";

type Read = Schemas["IntakeAnswer"];
type ReadTask = Schemas["ParsedTaskAnswer"];
type Command = Schemas["CommandAnswer"];

const COMMANDS: Record<Schemas["ChatCommand"], (named: string) => string> = {
  cancel: (named) => `Cancel ${named}`,
  retry: (named) => `Retry ${named}`,
  skip: (named) => `Skip ${named}`,
  status: (named) => `Tell how ${named === "" ? "things stand" : `${named} stands`}`,
  queue: (named) => `Tell how ${named === "" ? "the queues stand" : `${named} stands`}`,
};

/** What a message was understood to mean, before anything is done. */
export function Parse({ read }: { read: Read }) {
  const [tasks, commands] = [read.parsed ?? [], read.commands ?? []];
  if (read.question != null) return <Note tone="attention">{read.question}</Note>;
  if (!read.understood || tasks.length + commands.length === 0) return <Note tone="quiet">{read.reply}</Note>;
  return (
    <ol aria-label="What will be done" className="flex flex-col gap-2">
      {tasks.map((task, at) => (
        <TaskCard key={`task ${String(at)}`} task={task} number={at + 1} />
      ))}
      {commands.map((command, at) => (
        <CommandCard key={`command ${String(at)}`} command={command} />
      ))}
    </ol>
  );
}

function TaskCard({ task, number }: { task: ReadTask; number: number }) {
  const waits = task.depends_on.map((one) => (typeof one === "number" ? `#${String(one + 1)}` : one));
  const facts = [
    waits.length > 0 && `after ${waits.join(", ")}`,
    task.queue !== null && `queue ${task.queue}`,
    task.model !== null && `model ${task.model}`,
  ].filter((fact) => fact !== false);
  return (
    <Card>
      <span className="shrink-0 text-ink-3">#{number}</span>
      <div className="min-w-0">
        <p className="text-xs text-ink-3">New task</p>
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{task.input}</p>
        {facts.length > 0 && <p className="text-accent">{facts.join(" · ")}</p>}
      </div>
    </Card>
  );
}

function CommandCard({ command: { command, ref, queue, ok, detail } }: { command: Command }) {
  return (
    <Card>
      <span aria-hidden className="shrink-0 text-ink-3">
        ›
      </span>
      <div className="min-w-0">
        <p className="text-xs text-ink-3">Command</p>
        <p>{COMMANDS[command](ref ?? queue ?? "")}</p>
        {ok === false && <p className="text-failed">{detail ?? "The hub would refuse this."}</p>}
      </div>
    </Card>
  );
}

function Card({ children }: { children: ReactNode }) {
  return <li className="flex gap-3 rounded-md border border-line bg-page px-3 py-2">{children}</li>;
}

function Note({ tone, children }: { tone: "attention" | "quiet"; children: ReactNode }) {
  return <p className={cx("whitespace-pre-wrap", tone === "attention" ? "text-attention" : "text-ink-2")}>{children}</p>;
}

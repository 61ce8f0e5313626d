import { keepPreviousData, queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "~/api/client";
import { asProblem } from "~/api/problem";
import { useDebounced } from "~/lib/debounced";
import { useWhoseOwn, type Whose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { TextArea } from "~/ui/Field";
import { Kbd } from "~/ui/Kbd";
import { Panel } from "~/ui/Panel";
import { Refusal } from "~/ui/Refusal";
import { Skeleton } from "~/ui/Skeleton";
import { TaskLink } from "~/ui/TaskLink";

import { useDraftKeys } from "./draftKey";
import { Parse } from "./Parse";

type Answer = Schemas["IntakeAnswer"];

interface Sent {
  text: string;
  said: Answer;
}

const CHANNEL = "dashboard";
const SENT_MAX = 20;
const EXAMPLES = ["Analyse the sales data, then write a report", "1. fetch the prices\n2. draw a chart", "先写报告，然后发送给鲍勃", "task status"];

const readQuery = (text: string, whose: Whose) =>
  queryOptions({
    queryKey: ["tasks", "read", text, whose],
    meta: { live: false },
    queryFn: ({ signal }) =>
      answer(api.POST("/api/v1/intake", { params: { query: whose }, body: { text, channel: CHANNEL, dry_run: true }, signal })),
  });

/** A message as to a colleague: how it was understood is shown before it is sent. */
export function Chat() {
  const whose = useWhoseOwn();
  const keys = useDraftKeys();
  const [text, setText] = useState("");
  const [sent, setSent] = useState<readonly Sent[]>([]);
  const settled = useDebounced(text);
  const isEmpty = text.trim() === "";
  const reading = useQuery({
    ...readQuery(settled, whose),
    enabled: settled.trim() !== "",
    placeholderData: keepPreviousData,
  });
  const read = reading.isPlaceholderData ? undefined : reading.data;
  // What is sent is what was shown: not the words that were typed since.
  const isShown = settled === text && read !== undefined;
  const isReady = isShown && canBeDone(read);
  const sending = useMutation({
    mutationFn: (said: string) =>
      answer(
        api.POST("/api/v1/intake", {
          params: { query: whose },
          headers: { "Idempotency-Key": keys.of([said, whose]) },
          body: { text: said, channel: CHANNEL },
        }),
      ),
    onSuccess: (said, of) => {
      keys.forget();
      setSent((before) => [{ text: of, said }, ...before].slice(0, SENT_MAX));
      // What was typed meanwhile is not sent yet.
      setText((now) => (now === of ? "" : now));
    },
  });
  const send = () => {
    if (isReady && !sending.isPending) sending.mutate(text);
  };

  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Panel title="Your message">
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <TextArea
            label="Message"
            hideLabel
            rows={7}
            placeholder="Say what should be done, in English or Chinese"
            hint="Tasks, their order, a model or a queue; also “cancel T-003”, “retry T-004”, “task status”."
            error={sending.error === null ? undefined : asProblem(sending.error).message}
            value={text}
            onChange={(event) => {
              setText(event.target.value);
            }}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              send();
            }}
          />
          <div className="flex flex-wrap items-center gap-3">
            <Button type="submit" look="primary" busy={sending.isPending} disabled={!isReady}>
              Send
            </Button>
            <span className="text-ink-3 max-md:hidden">
              <Kbd>Ctrl</Kbd> <Kbd>Enter</Kbd>
            </span>
          </div>
        </form>
      </Panel>
      <Panel title="What will be done">
        <div aria-live="polite" className="min-h-24">
          {isEmpty ? (
            <Examples onChoose={setText} />
          ) : reading.error !== null && settled === text ? (
            <Refusal text={asProblem(reading.error).message} />
          ) : reading.data === undefined ? (
            <Skeleton className="h-16" />
          ) : (
            <Parse read={reading.data} />
          )}
        </div>
      </Panel>
      {sent.length > 0 && (
        <Panel title="Sent" className="lg:col-span-2">
          <ul aria-label="Sent" className="flex flex-col divide-y divide-line">
            {sent.map((one, at) => (
              <Told key={sent.length - at} sent={one} />
            ))}
          </ul>
        </Panel>
      )}
    </div>
  );
}

/** Whether anything at all would come of it. */
function canBeDone({ question, parsed = [], commands = [] }: Answer): boolean {
  return question == null && (parsed.length > 0 || commands.some(({ ok }) => ok !== false));
}

function Told({ sent: { text, said } }: { sent: Sent }) {
  const tasks = said.tasks ?? [];
  return (
    <li className="grid gap-2 py-3 first:pt-0 last:pb-0 md:grid-cols-2">
      <p className="whitespace-pre-wrap text-ink-3 [overflow-wrap:anywhere]">{text}</p>
      <div className="flex flex-col gap-1">
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{said.reply}</p>
        {tasks.length > 0 && (
          <p className="flex flex-wrap gap-x-3">
            {tasks.map((task) => (
              <TaskLink key={task.id} task={task} className="text-accent hover:underline">
                Open {task.ref}
              </TaskLink>
            ))}
          </p>
        )}
      </div>
    </li>
  );
}

function Examples({ onChoose }: { onChoose: (text: string) => void }) {
  return (
    <div className="flex flex-col items-start gap-2">
      <p className="text-ink-2">It is shown here, before anything is sent. For example:</p>
      {EXAMPLES.map((example) => (
        <button
          key={example}
          type="button"
          onClick={() => {
            onChoose(example);
          }}
          className="rounded-md border border-line px-2.5 py-1 text-left whitespace-pre-line hover:bg-sunken"
        >
          {example}
        </button>
      ))}
    </div>
  );
}

import { X } from "lucide-react";
import { useEffect, useId, useState } from "react";

import { asProblem } from "~/api/problem";
import { cx } from "~/lib/classes";
import { newStore, useStore } from "~/lib/store";
import { CLOSE, UNDO } from "~/words";

import { IconButton } from "./IconButton";
import { Sentence } from "./Sentence";

interface Toast {
  id: number;
  text: string;
  tone: "plain" | "failed";
  undo?: (() => Promise<unknown>) | undefined;
}

const SHOWN_MS = 6_000;
/** What went wrong, or can be taken back, is there for whoever had looked away. */
const SHOWN_LONGER_MS = 12_000;
const SHOWN_MAX = 4;

const store = newStore<readonly Toast[]>([]);
let made = 0;

/** Says that something was done. With `undo`, a button takes it back for as long as it is shown. */
export function toast(text: string, { undo }: { undo?: () => Promise<unknown> } = {}): void {
  show({ text, tone: "plain", undo });
}

export function toastProblem(thrown: unknown): void {
  show({ text: asProblem(thrown).message, tone: "failed" });
}

function show(said: Omit<Toast, "id">): void {
  made += 1;
  store.set([...store.get(), { ...said, id: made }].slice(-SHOWN_MAX));
}

function drop(id: number): void {
  store.set(store.get().filter((one) => one.id !== id));
}

/** Where they can be shown, the innermost last: behind an open dialog nothing can be pressed or is read out. */
const places = newStore<readonly string[]>([]);

export function Toasts() {
  const toasts = useStore(store);
  const id = useId();
  const isInnermost = useStore(places).at(-1) === id;
  useEffect(() => {
    places.set([...places.get(), id]);
    return () => {
      places.set(places.get().filter((one) => one !== id));
    };
  }, [id]);
  if (!isInnermost) return null;
  return (
    <section
      aria-label="Messages"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 bottom-20 z-50 flex flex-col items-center gap-2 px-4 md:bottom-6"
    >
      {toasts.map((one) => (
        <Shown key={one.id} toast={one} />
      ))}
    </section>
  );
}

function Shown({ toast: { id, text, tone, undo } }: { toast: Toast }) {
  const [held, setHeld] = useState(false);
  const shownMs = tone === "failed" || undo !== undefined ? SHOWN_LONGER_MS : SHOWN_MS;
  useEffect(() => {
    if (held) return;
    const timer = setTimeout(() => {
      drop(id);
    }, shownMs);
    return () => {
      clearTimeout(timer);
    };
  }, [id, held, shownMs]);

  return (
    // It stays while somebody reads it or is about to press its button.
    <div
      role={tone === "failed" ? "alert" : "status"}
      onPointerEnter={() => {
        setHeld(true);
      }}
      onPointerLeave={() => {
        setHeld(false);
      }}
      onFocus={() => {
        setHeld(true);
      }}
      onBlur={() => {
        setHeld(false);
      }}
      className={cx(
        "pointer-events-auto flex max-w-lg items-center gap-3 rounded-lg border bg-surface py-1.5 pr-1.5 pl-4 shadow-overlay",
        tone === "failed" ? "border-failed/50 text-failed" : "border-line-strong",
      )}
    >
      <p className="min-w-0 py-1">
        {/* A refusal has commands in it; what we say ourselves has names, which are shown as they are. */}
        {tone === "failed" ? <Sentence text={text} /> : text}
      </p>
      {undo !== undefined && (
        <button
          type="button"
          className="rounded-md px-2 py-1 font-medium text-accent hover:bg-accent-soft"
          onClick={() => {
            drop(id);
            undo().catch(toastProblem);
          }}
        >
          {UNDO}
        </button>
      )}
      <IconButton
        label={CLOSE}
        onClick={() => {
          drop(id);
        }}
      >
        <X />
      </IconButton>
    </div>
  );
}

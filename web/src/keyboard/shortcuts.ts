/** Keys that do something wherever the focus is, except while somebody types or a dialog is open. */

import { useEffectEvent, useLayoutEffect } from "react";

import { newStore } from "~/lib/store";

export interface Shortcut {
  /** One key ("j"), or two after each other ("g q"). */
  keys: string;
  /** What it does, as the help says it. */
  label: string;
  group: "Everywhere" | "Go to" | "Lists" | "This page";
  run: () => void;
}

const SEQUENCE_MS = 1_200;

export const shortcutStore = newStore<readonly Shortcut[]>([]);

/** While the component is shown. The latest `run` is called; it need not be stable. */
export function useShortcut(keys: string, label: string, run: () => void, group: Shortcut["group"] = "This page"): void {
  const latest = useEffectEvent(run);
  // Not a moment later: what is seen can be pressed, and a key that came first would do nothing.
  useLayoutEffect(() => {
    const shortcut: Shortcut = {
      keys,
      label,
      group,
      run: () => {
        latest();
      },
    };
    shortcutStore.set([...shortcutStore.get(), shortcut]);
    return () => {
      shortcutStore.set(shortcutStore.get().filter((one) => one !== shortcut));
    };
  }, [keys, label, group]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** Whether Enter and Space belong to what has the focus. */
function isPressable(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("a[href], button, summary, [role=menuitem]") !== null;
}

/** A page overrules the shell; of two on one page, the one that came last. */
export function chosen(shortcuts: readonly Shortcut[], keys: string): Shortcut | undefined {
  const fitting = shortcuts.filter((one) => one.keys === keys);
  return fitting.findLast((one) => one.group !== "Everywhere") ?? fitting.at(-1);
}

/** One listener for the tab. */
export function listenForShortcuts(): () => void {
  let first: string | null = null;
  let forget: ReturnType<typeof setTimeout> | undefined;

  function onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
    if ((event.key === "Enter" || event.key === " ") && isPressable(event.target)) return;
    const said = first === null ? event.key : `${first} ${event.key}`;
    const shortcuts = shortcutStore.get();
    first = null;
    clearTimeout(forget);
    const found = chosen(shortcuts, said);
    if (found !== undefined) {
      event.preventDefault();
      found.run();
    } else if (shortcuts.some((one) => one.keys.startsWith(`${said} `))) {
      first = said;
      forget = setTimeout(() => (first = null), SEQUENCE_MS);
    }
  }

  document.addEventListener("keydown", onKey);
  return () => {
    clearTimeout(forget);
    document.removeEventListener("keydown", onKey);
  };
}

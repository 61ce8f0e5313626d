/** What a person chose for this browser. Nothing secret: keys and sessions are never kept here. */

import { useSyncExternalStore } from "react";

import { newStore, type Store, useStore } from "./store";

export type Theme = "system" | "light" | "dark";

const PREFIX = "taskyard.";

function kept(name: string, otherwise: string): Store<string> {
  const store = newStore(read(name) ?? otherwise);
  store.subscribe(() => {
    write(name, store.get());
  });
  return store;
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    // Storage can be forbidden; what was chosen then holds until the page is closed.
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    return;
  }
}

export const themeStore = kept("theme", "system");
/** An IANA name; empty: the browser's own. */
export const zoneStore = kept("zone", "");
/** Whose things an admin looks at: `*` everybody's, empty one's own, else a user's id. */
export const whoseStore = kept("whose", "*");

export function useTheme(): Theme {
  const chosen = useStore(themeStore);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

const darkQuery = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

function onSystemTheme(told: () => void): () => void {
  darkQuery?.addEventListener("change", told);
  return () => darkQuery?.removeEventListener("change", told);
}

/** For what CSS cannot colour. */
export function useIsDark(): boolean {
  const prefersDark = useSyncExternalStore(onSystemTheme, () => darkQuery?.matches ?? false);
  const theme = useTheme();
  return theme === "system" ? prefersDark : theme === "dark";
}

/** On the root element, where the colours look for it. */
export function applyTheme(): void {
  const show = () => {
    const chosen = themeStore.get();
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    else delete document.documentElement.dataset.theme;
  };
  show();
  themeStore.subscribe(show);
}

export function useZone(): string {
  return zoneOf(useStore(zoneStore));
}

const zones = new Map<string, string>();

/** The zone's name, or the browser's own if it has none like that. Every time that is shown asks, so each is checked once. */
export function zoneOf(chosen: string): string {
  const known = zones.get(chosen) ?? checkedZone(chosen);
  zones.set(chosen, known);
  return known;
}

function checkedZone(chosen: string): string {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (chosen === "") return own;
  try {
    new Intl.DateTimeFormat("en", { timeZone: chosen });
    return chosen;
  } catch {
    return own;
  }
}

import { useSyncExternalStore } from "react";

const query = typeof matchMedia === "undefined" ? null : matchMedia("(max-width: 719px)");

function subscribe(told: () => void): () => void {
  query?.addEventListener("change", told);
  return () => query?.removeEventListener("change", told);
}

/** A phone, or a window as narrow as one: tables leave out the columns that say `wide`. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => query?.matches ?? false);
}

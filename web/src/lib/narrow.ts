import { useSyncExternalStore } from "react";

/** Whether the window is narrower than this, now and whenever it changes. */
function newNarrower(px: number): () => boolean {
  const query = typeof matchMedia === "undefined" ? null : matchMedia(`(width < ${String(px)}px)`);
  const subscribe = (told: () => void) => {
    query?.addEventListener("change", told);
    return () => query?.removeEventListener("change", told);
  };
  return () => useSyncExternalStore(subscribe, () => query?.matches ?? false);
}

/** A phone, or a window as narrow as one (below `md`): tables leave out the columns that say `wide`. */
export const useIsNarrow = newNarrower(768);

/** A tablet held upright, or less (below `lg`): beside the navigation there is no room for many columns. */
export const useIsTight = newNarrower(1024);

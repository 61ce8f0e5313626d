/** The same draft sent twice is one task: after a lost answer, or a second press. */

import { useCallback, useRef } from "react";

const KEY_BYTES = 16;

interface Kept {
  said: string;
  key: string;
}

export interface DraftKeys {
  /** The key under which this was sent before, else a new one. */
  of: (body: unknown) => string;
  /** It has arrived: the same words are a new wish from now on. */
  forget: () => void;
}

export function newDraftKeys(mint: () => string = newKey): DraftKeys {
  let kept: Kept | null = null;
  return {
    of: (body) => {
      const said = JSON.stringify(body);
      if (kept?.said !== said) kept = { said, key: mint() };
      return kept.key;
    },
    forget: () => {
      kept = null;
    },
  };
}

export function useDraftKeys(): DraftKeys {
  const keys = useRef<DraftKeys>(null);
  const get = useCallback(() => (keys.current ??= newDraftKeys()), []);
  return { of: (body) => get().of(body), forget: () => { get().forget(); } };
}

function newKey(): string {
  // `randomUUID` is kept from pages that came without TLS, as in a home network.
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return `page-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

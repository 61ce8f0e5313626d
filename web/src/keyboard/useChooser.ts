import { type KeyboardEvent, useEffect, useEffectEvent, useState } from "react";

/** For so long Enter waits for an answer. Whoever pressed it has turned to something else by then. */
const ENTER_MS_MAX = 10_000;

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

interface Parts<T> {
  /** What is shown, which may still be the answer to fewer letters. */
  choices: readonly T[];
  /** Whether the answer to what is typed is still on its way. */
  isPending: boolean;
  /** Whether one fits what is typed, whatever the answer will be. */
  isSure?: (choice: T) => boolean;
  onChoose: (choice: T) => void;
}

/**
 * Choosing among what is found while one types: arrows walk, Enter takes the one that is marked.
 *
 * Hands are quicker than answers. An Enter that comes before the answer waits for it, and then takes the first: what is
 * still shown was found for other words. What somebody walked or pointed to is taken as it is shown.
 */
export function useChooser<T extends { id: string }>({ choices, isPending, isSure = () => false, onChoose }: Parts<T>) {
  const [pickedId, setPickedId] = useState<string | null>(null);
  const [isWaiting, setIsWaiting] = useState(false);
  const picked = choices.find((choice) => choice.id === pickedId);
  const chosen = picked ?? choices[0];

  const endWaiting = useEffectEvent(() => {
    setIsWaiting(false);
    if (!isPending && chosen !== undefined) onChoose(chosen);
  });
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(
      () => {
        endWaiting();
      },
      isPending ? ENTER_MS_MAX : 0,
    );
    return () => {
      clearTimeout(timer);
    };
  }, [isWaiting, isPending]);

  function pick(choice: T | undefined) {
    setPickedId(choice?.id ?? null);
    setIsWaiting(false);
  }

  function onEnter() {
    const isKnown = picked !== undefined || !isPending || (chosen !== undefined && isSure(chosen));
    if (!isKnown) setIsWaiting(true);
    else if (chosen !== undefined) onChoose(chosen);
  }

  return {
    chosen,
    /** Whether an Enter waits for its answer. */
    isWaiting,
    /** Somebody points at one; a hand that rests on the mouse takes no Enter back. */
    onPoint: (choice: T) => {
      if (!isWaiting) pick(choice);
    },
    /** Other words, or nobody looks any more: from the first again, and an Enter that still waits is taken back. */
    reset: () => {
      pick(undefined);
    },
    onKeyDown: (event: KeyboardEvent) => {
      // Of an input method, Enter and arrows choose among its own words.
      if (event.nativeEvent.isComposing) return;
      const step = STEPS[event.key];
      if (step !== undefined) {
        event.preventDefault();
        const at = chosen === undefined ? 0 : choices.indexOf(chosen);
        pick(choices.at((at + step) % choices.length));
      } else if (event.key === "Enter") {
        event.preventDefault();
        onEnter();
      }
    },
  };
}

import { type KeyboardEvent, type ReactNode, useId, useRef } from "react";

import { cx } from "~/lib/classes";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  onSelect: () => void;
  tone?: "plain" | "failed";
  disabled?: boolean;
  /** Why it cannot be chosen, or what it does. */
  hint?: string | undefined;
  isChosen?: boolean;
}

interface Props {
  /** What the button opens, for a screen reader. */
  label: string;
  /** What is in the button. */
  children: ReactNode;
  items: readonly (MenuItem | "line")[];
  className?: string;
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
const GAP_PX = 4;

/** A button with a list of things to do, in the browser's top layer, so that no edge cuts it off. */
export function Menu({ label, children, items, className }: Props) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);

  function place() {
    const [at, menu] = [button.current?.getBoundingClientRect(), list.current];
    if (at === undefined || menu === null) return;
    const fitsBelow = at.bottom + menu.offsetHeight + GAP_PX < window.innerHeight;
    menu.style.top = `${String(fitsBelow ? at.bottom + GAP_PX : Math.max(GAP_PX, at.top - menu.offsetHeight - GAP_PX))}px`;
    menu.style.left = `${String(Math.max(8, Math.min(at.right - menu.offsetWidth, window.innerWidth - menu.offsetWidth - 8)))}px`;
  }

  function move(event: KeyboardEvent) {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const choices = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = choices.findIndex((one) => one === document.activeElement);
    choices[(at + step + choices.length) % choices.length]?.focus();
  }

  return (
    <>
      <button
        ref={button}
        type="button"
        aria-label={label}
        aria-haspopup="menu"
        title={label}
        popoverTarget={id}
        className={cx(
          "inline-flex h-8 min-w-8 items-center justify-center gap-1.5 rounded-md px-1.5 text-ink-2 hover:bg-sunken hover:text-ink [&_svg]:size-4",
          className,
        )}
      >
        {children}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        onKeyDown={move}
        onToggle={(event) => {
          if (event.newState !== "open") return;
          place();
          list.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
        }}
        className="fixed inset-auto m-0 min-w-48 rounded-lg border border-line bg-surface p-1 text-ink shadow-overlay"
      >
        {items.map((item, index) =>
          item === "line" ? (
            <hr key={index} className="my-1 border-line" />
          ) : (
            <button
              key={index}
              type="button"
              role="menuitem"
              tabIndex={-1}
              title={item.hint}
              aria-disabled={item.disabled}
              onClick={() => {
                if (item.disabled === true) return;
                list.current?.hidePopover();
                item.onSelect();
              }}
              className={cx(
                "flex h-8 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-sunken focus-visible:-outline-offset-2 aria-disabled:opacity-50 [&_svg]:size-4",
                item.tone === "failed" && "text-failed",
              )}
            >
              {item.icon}
              <span className="flex-1">{item.label}</span>
              {item.isChosen === true && <span aria-hidden>✓</span>}
              {item.isChosen === true && <span className="sr-only">, chosen</span>}
            </button>
          ),
        )}
      </div>
    </>
  );
}

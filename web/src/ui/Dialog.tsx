import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

import { cx } from "~/lib/classes";
import { CLOSE } from "~/words";

import { IconButton } from "./IconButton";
import { Toasts } from "./Toasts";

interface Props {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  /** Buttons, at the end. */
  footer?: ReactNode;
  wide?: boolean;
  /** Without the visible head: the title is still its name. */
  bare?: boolean;
}

/** The browser's own dialog: it holds the focus, goes away by Escape, and gives the focus back. */
export function Dialog({ open, ...rest }: Props) {
  return open ? <Opened {...rest} /> : null;
}

function Opened({ onClose, title, children, footer, wide = false, bare = false }: Omit<Props, "open">) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();

  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    // A press on the backdrop is one on the dialog itself; the keyboard has Escape.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions, jsx-a11y/click-events-have-key-events
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
      className={cx(
        "max-h-[min(90dvh,52rem)] w-[calc(100vw-2rem)] flex-col overflow-hidden rounded-lg border border-line bg-surface p-0 shadow-overlay open:flex",
        wide ? "max-w-3xl" : "max-w-lg",
        // What is found grows downwards: the field stays where it is.
        bare && "mt-[12dvh]",
      )}
    >
      <header className={cx("flex items-center gap-2 border-b border-line py-2 pr-2 pl-4", bare && "sr-only")}>
        <h2 id={id} className="flex-1 text-base font-semibold">
          {title}
        </h2>
        {!bare && (
          <IconButton label={CLOSE} onClick={onClose}>
            <X />
          </IconButton>
        )}
      </header>
      <div className={cx("min-h-0 flex-1 overflow-y-auto", !bare && "p-4")}>{children}</div>
      {footer !== undefined && (
        <footer className="flex flex-wrap justify-end gap-2 border-t border-line bg-page px-4 py-3">{footer}</footer>
      )}
      <Toasts />
    </dialog>
  );
}

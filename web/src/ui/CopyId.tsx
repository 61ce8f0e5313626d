import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

import { copyText } from "~/lib/clipboard";

import { toastProblem } from "./Toasts";

const SAID_MS = 1_500;

/** An id or a key in one piece, to take along. */
export function CopyId({ value, label, shown }: { value: string; label?: string; shown?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => {
      setCopied(false);
    }, SAID_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [copied]);
  const said = copied ? "Copied" : `Copy ${label ?? value}`;
  return (
    <button
      type="button"
      title={said}
      onClick={() => {
        copyText(value).then(() => {
          setCopied(true);
        }, toastProblem);
      }}
      className="inline-flex max-w-full items-center gap-1 rounded-sm px-1 font-mono text-xs text-ink-2 hover:bg-sunken hover:text-ink [&_svg]:size-3 [&_svg]:shrink-0"
    >
      <span className="truncate">{shown ?? value}</span>
      {/* The name must begin with what is seen, or it cannot be called by whoever speaks to the computer. */}
      <span className="sr-only">, {said}</span>
      {copied ? <Check aria-hidden /> : <Copy aria-hidden />}
    </button>
  );
}

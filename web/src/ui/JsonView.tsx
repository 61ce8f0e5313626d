import { useState } from "react";

import { CopyId } from "./CopyId";

const SHOWN_CHARS_MAX = 4_000;

/** Any JSON, as text; a text itself without its quotes. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const [whole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  const isLong = text.length > SHOWN_CHARS_MAX;
  const shown = isLong && !whole ? text.slice(0, SHOWN_CHARS_MAX) : text;
  return (
    <div className="overflow-hidden rounded-md border border-line bg-sunken">
      <pre
        role="region"
        tabIndex={0}
        aria-label={label}
        className="max-h-96 overflow-auto p-3 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {shown}
        {isLong && !whole && "…"}
      </pre>
      <div className="flex items-center justify-end gap-3 border-t border-line px-2 py-1">
        {isLong && (
          <button
            type="button"
            className="text-xs text-accent"
            onClick={() => {
              setWhole(!whole);
            }}
          >
            {whole ? "Show less" : "Show all"}
          </button>
        )}
        <CopyId value={text} label={label} shown="Copy" />
      </div>
    </div>
  );
}

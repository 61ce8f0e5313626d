import { Link } from "@tanstack/react-router";

import type { Whose } from "~/lib/whose";
import { inWords } from "~/words";

const PARTS = /(`[^`]+`|\bT-\d+\b)/;

/** A sentence of the hub's: a task that it names can be gone to, and what stands between backquotes is a command or a name. */
export function Sentence({ text, whose }: { text: string; whose: Whose }) {
  return text.split(PARTS).map((part, index) => {
    if (index % 2 === 0) return inWords(part);
    if (part.startsWith("`")) {
      return (
        <code key={index} className="rounded-sm bg-sunken px-1 font-mono text-xs">
          {part.slice(1, -1)}
        </code>
      );
    }
    return (
      <Link key={index} to="/tasks/$id" params={{ id: part }} search={{ ...whose }} className="whitespace-nowrap text-accent underline decoration-1 underline-offset-2">
        {part}
      </Link>
    );
  });
}

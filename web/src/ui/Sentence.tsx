import { Link } from "@tanstack/react-router";

import type { Whose } from "~/lib/whose";
import { inWords } from "~/words";

interface Props {
  /** A sentence of the hub's: what stands between backquotes is something to type, or a name. */
  text: string;
  /** Where it is known whose tasks it names, each can be gone to. */
  whose?: Whose;
}

const CODE = /(`[^`]+`)/;
const CODE_OR_REF = /(`[^`]+`|\bT-\d+\b)/;

export function Sentence({ text, whose }: Props) {
  return text.split(whose === undefined ? CODE : CODE_OR_REF).map((part, index) => {
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

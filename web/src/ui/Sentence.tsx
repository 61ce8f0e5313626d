import { Link } from "@tanstack/react-router";

import { HUB_TIME, hubTime } from "~/lib/hubTimes";
import { useMinute } from "~/lib/now";
import type { Whose } from "~/lib/whose";
import { inWords } from "~/words";

import { ClockTime } from "./RelativeTime";

interface Props {
  /** A sentence of the hub's: what stands between backquotes is something to type, or a name. */
  text: string;
  /** Where it is known whose tasks it names, each can be gone to. */
  whose?: Whose;
}

const CODE = "`[^`]+`";
const REF = String.raw`\bT-\d+\b`;
const SPECIAL = new RegExp(`(${CODE}|${HUB_TIME})`);
const SPECIAL_OR_REF = new RegExp(`(${CODE}|${HUB_TIME}|${REF})`);

export function Sentence({ text, whose }: Props) {
  return text.split(whose === undefined ? SPECIAL : SPECIAL_OR_REF).map((part, index) => {
    if (index % 2 === 0) return inWords(part);
    if (part.startsWith("`")) {
      return (
        <code key={index} className="rounded-sm bg-sunken px-1 font-mono text-xs">
          {part.slice(1, -1)}
        </code>
      );
    }
    if (part.endsWith("UTC")) return <HubTime key={index} text={part} />;
    return (
      <Link key={index} to="/tasks/$id" params={{ id: part }} search={{ ...whose }} className="whitespace-nowrap text-accent underline decoration-1 underline-offset-2">
        {part}
      </Link>
    );
  });
}

/** The hub tells times in UTC; here they are what the reader's own clock says. */
function HubTime({ text }: { text: string }) {
  const ms = hubTime(text, useMinute());
  return ms === null ? text : <ClockTime ms={ms} />;
}

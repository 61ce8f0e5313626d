import { inWords } from "~/words";

interface Props {
  /** A sentence of the hub's: what stands between backticks is something to type. */
  text: string;
}

export function Sentence({ text }: Props) {
  return text.split("`").map((part, index) =>
    index % 2 === 0 ? (
      inWords(part)
    ) : (
      <code key={index} className="rounded-sm bg-sunken px-1 font-mono text-xs">
        {part}
      </code>
    ),
  );
}

import { cx } from "~/lib/classes";

import { Sentence } from "./Sentence";

interface Props {
  /** Why it was not done, in the hub's own words. */
  text: string;
  className?: string;
}

/** Beside the button or the form that it is about. */
export function Refusal({ text, className }: Props) {
  return (
    <p role="alert" className={cx("text-failed", className)}>
      <Sentence text={text} />
    </p>
  );
}

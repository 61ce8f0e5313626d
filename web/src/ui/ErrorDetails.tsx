import { parted } from "~/lib/traceback";

import { JsonView } from "./JsonView";

/** What an error brings besides its message: a traceback as text, all else as JSON. */
export function ErrorDetails({ details }: { details: unknown }) {
  const { traceback, rest } = parted(details);
  const isFilled = rest != null && rest !== "" && (typeof rest !== "object" || Object.keys(rest).length > 0);
  return (
    <>
      {traceback !== null && <JsonView label="Traceback" value={traceback} />}
      {isFilled && <JsonView label="Details of the error" value={rest} />}
    </>
  );
}

/** What the hub has against a form, at the field that it is about. */

import { asProblem, type FieldFault } from "~/api/problem";

export interface Faults {
  of: (path: string, label: string) => string | undefined;
  /** What belongs to no field that is shown. */
  rest: string | undefined;
}

/** `shown` are the paths that have a field. */
export function faultsIn(thrown: unknown, shown: readonly string[]): Faults {
  if (thrown === null || thrown === undefined) return { of: () => undefined, rest: undefined };
  const problem = asProblem(thrown);
  const at = (path: string) => problem.errors.find((one) => isAt(one, path));
  const isShown = problem.errors.length > 0 && problem.errors.every((one) => shown.some((path) => isAt(one, path)));
  return {
    of: (path, label) => {
      const found = at(path);
      return found === undefined ? undefined : sentenceOf(found.message, label);
    },
    rest: isShown ? undefined : problem.message,
  };
}

/** The same faults for a part of the form whose fields stand under `prefix`. */
export function faultsUnder(faults: Faults, prefix: string): Faults {
  return { ...faults, of: (path, label) => faults.of(`${prefix}${path}`, label) };
}

function isAt({ path }: FieldFault, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}[`) || path.startsWith(`${wanted}.`);
}

/** Some are sentences already; others say only what is wrong: "is empty". */
function sentenceOf(message: string, label: string): string {
  const isBare = /^(is|are|has|have|should|must|may|cannot|can|needs) /.test(message);
  return isBare ? `${label} ${message}${message.endsWith(".") ? "" : "."}` : message;
}

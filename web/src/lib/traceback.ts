export interface Parted {
  traceback: string | null;
  rest: unknown;
}

/** The traceback among an error's details, which is text to be read, and what else there is. */
export function parted(details: unknown): Parted {
  if (typeof details !== "object" || details === null || Array.isArray(details)) return { traceback: null, rest: details };
  const { traceback, ...rest } = details as Record<string, unknown>;
  return typeof traceback === "string" ? { traceback, rest } : { traceback: null, rest: details };
}

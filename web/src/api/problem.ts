/** A refusal of the hub, or no answer at all: a code to go by, and a sentence for people. */

export interface FieldFault {
  path: string;
  message: string;
}

interface Said {
  status: number;
  code: string;
  title: string;
  detail: string;
  errors?: FieldFault[];
  retryAfterS?: number | null;
}

/** The code of "nobody answered", which no hub can send. */
const UNREACHABLE = "UNREACHABLE";

export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly errors: readonly FieldFault[];
  readonly retryAfterS: number | null;

  constructor(said: Said) {
    super(said.detail === "" ? said.title : said.detail);
    this.status = said.status;
    this.code = said.code;
    this.title = said.title;
    this.errors = said.errors ?? [];
    this.retryAfterS = said.retryAfterS ?? null;
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }

  get isForbidden(): boolean {
    return this.status === 403;
  }

  get isNotFound(): boolean {
    return this.status === 404;
  }

  /** Whether it may well go away by itself, so that asking again is worth it. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  /** What is wrong with one field of a form, if anything. */
  of(path: string): string | undefined {
    return this.errors.find((one) => one.path === path)?.message;
  }
}

export function unreachable(): Problem {
  return new Problem({
    status: 0,
    code: UNREACHABLE,
    title: "The hub does not answer",
    detail: "The hub does not answer. It may be restarting; this page goes on by itself as soon as it is back.",
  });
}

export async function problemOf(response: Response): Promise<Problem> {
  const header = Number(response.headers.get("Retry-After"));
  const retryAfterS = Number.isFinite(header) && header > 0 ? header : null;
  const body: unknown = await response.json().catch(() => null);
  if (isSaid(body)) return new Problem({ ...body, retryAfterS });
  return new Problem({
    status: response.status,
    code: `HTTP_${String(response.status)}`,
    title: "The hub did not say what went wrong",
    detail: `The hub answered ${String(response.status)} without a reason. Try again; if it stays, look at the hub's log.`,
    retryAfterS,
  });
}

function isSaid(body: unknown): body is Said {
  return typeof body === "object" && body !== null && "code" in body && "detail" in body && "status" in body;
}

/** Whatever was thrown, as a problem that can be shown. */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem({
    status: -1,
    code: "PAGE_FAULT",
    title: "This page made a mistake",
    detail: thrown instanceof Error ? thrown.message : String(thrown),
  });
}

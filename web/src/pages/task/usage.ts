/** What attempts used of models, in words. */

import { count, counted } from "~/lib/format";

interface Usage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost_usd?: number | null;
}

function read(said: unknown): Usage | null {
  return typeof said === "object" && said !== null ? said : null;
}

export function usageWords(said: unknown): string | null {
  const used = read(said);
  if (used === null) return null;
  const words: string[] = [];
  if (used.input_tokens != null) words.push(`${counted(used.input_tokens, "token")} in`);
  if (used.output_tokens != null) words.push(`${count(used.output_tokens)} out`);
  if (used.cost_usd != null) words.push(dollars(used.cost_usd));
  return words.length === 0 ? null : words.join(" · ");
}

/** Of all attempts together; null if none said anything. */
export function usageOf(attempts: readonly { usage?: unknown }[]): Usage | null {
  const told = attempts.map((attempt) => read(attempt.usage)).filter((one) => one !== null);
  if (told.length === 0) return null;
  const sum = (name: keyof Usage) => {
    const known = told.map((one) => one[name]).filter((one) => one != null);
    return known.length === 0 ? null : known.reduce((all, one) => all + one, 0);
  };
  return { input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), cost_usd: sum("cost_usd") };
}

/** Cents where there are some; of less, as many digits as say something. */
export function dollars(amount: number): string {
  return amount === 0 || amount >= 0.01 ? `$${amount.toFixed(2)}` : `$${amount.toPrecision(2)}`;
}

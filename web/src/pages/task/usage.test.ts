import { expect, it } from "vitest";

import { dollars, usageOf, usageWords } from "./usage";

it("says what an attempt used, and nothing where nothing was said", () => {
  expect(usageWords({ input_tokens: 1200, output_tokens: 30, cost_usd: 0.5 })).toBe("1,200 tokens in · 30 out · $0.50");
  expect(usageWords({})).toBeNull();
  expect(usageWords(null)).toBeNull();
});

it("adds up what all attempts used", () => {
  const sum = usageOf([{ usage: { input_tokens: 2, cost_usd: 0.1 } }, { usage: null }, { usage: { input_tokens: 3 } }]);
  expect(sum).toEqual({ input_tokens: 5, output_tokens: null, cost_usd: 0.1 });
  expect(usageOf([{ usage: null }])).toBeNull();
});

it.each([
  [0, "$0.00"],
  [1.005, "$1.00"],
  [0.00123, "$0.0012"],
])("writes %d dollars as %s", (amount, said) => {
  expect(dollars(amount)).toBe(said);
});

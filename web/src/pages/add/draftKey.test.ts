import { expect, test } from "vitest";

import { newDraftKeys } from "./draftKey";

function counting() {
  let made = 0;
  return newDraftKeys(() => `key ${String((made += 1))}`);
}

test("the same draft has the same key until it has arrived", () => {
  const keys = counting();
  expect(keys.of({ input: "x" })).toBe("key 1");
  expect(keys.of({ input: "x" })).toBe("key 1");
  keys.forget();
  expect(keys.of({ input: "x" })).toBe("key 2");
});

test("a draft that was changed is another one", () => {
  const keys = counting();
  keys.of({ input: "x" });
  expect(keys.of({ input: "y" })).toBe("key 2");
});

test("keys are never the same twice", () => {
  expect(newDraftKeys().of("x")).not.toBe(newDraftKeys().of("x"));
});

import { expect, test } from "vitest";

import { expected, newTyping, see, tell } from "./typed";

test("what comes back leaves alone what was typed since", () => {
  const told = tell({ ...newTyping(""), typed: "gate" }, "gate");
  expect(see({ ...told, typed: "gate nu" }, "gate")).toEqual({ typed: "gate nu", seen: "gate", told: [] });
});

test("what comes back late, after more was told, does too", () => {
  const told = tell(tell({ ...newTyping(""), typed: "gates" }, "gate"), "gates");
  const half = see(told, "gate");
  expect(half).toEqual({ typed: "gates", seen: "gate", told: ["gates"] });
  expect(expected(half)).toBe("gates");
  expect(see(half, "gates")).toEqual({ typed: "gates", seen: "gates", told: [] });
});

test("an address that was skipped is waited for no longer", () => {
  const told = tell(tell({ ...newTyping(""), typed: "gates" }, "gate"), "gates");
  expect(see(told, "gates").told).toEqual([]);
});

test("what others put into the address is shown", () => {
  const told = tell({ ...newTyping(""), typed: "gate" }, "gate");
  expect(see(see(told, "gate"), "")).toEqual(newTyping(""));
  expect(see(told, "fence")).toEqual(newTyping("fence"));
});

test("what is told is what the address will say, before it does", () => {
  expect(expected(newTyping("gate"))).toBe("gate");
  expect(expected(tell(newTyping("gate"), ""))).toBe("");
});

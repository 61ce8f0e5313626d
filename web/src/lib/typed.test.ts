import { expect, test } from "vitest";

import { expected, newTyping, see, tell } from "./typed";

test("what comes back leaves alone what was typed since", () => {
  const told = tell({ ...newTyping(""), typed: "gate" }, "gate");
  expect(see({ ...told, typed: "gate nu" }, "gate")).toEqual({ ...newTyping("gate"), typed: "gate nu" });
});

test("what comes back late, after more was told, does too", () => {
  const told = tell(tell({ ...newTyping(""), typed: "gates" }, "gate"), "gates");
  const half = see(told, "gate");
  expect(half).toEqual({ ...newTyping("gate"), typed: "gates", told: ["gates"] });
  expect(expected(half)).toBe("gates");
  expect(see(half, "gates")).toEqual(newTyping("gates"));
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

test("what was typed and not told yet is cleared too, though the address never knew of it", () => {
  const typed = { ...newTyping(""), typed: "gate" };
  expect(see(typed, "")).toBe(typed);
  expect(see(typed, "", 1)).toEqual(newTyping("", 1));
});

test("what was told and is on its way when the fields are cleared does not come back", () => {
  const told = tell({ ...newTyping(""), typed: "gate" }, "gate");
  const cleared = see(told, "", 1);
  expect(cleared).toEqual(newTyping("", 1));
  expect(see(see(cleared, "gate"), "")).toEqual(newTyping("", 1));
});

test("what is told is what the address will say, before it does", () => {
  expect(expected(newTyping("gate"))).toBe("gate");
  expect(expected(tell(newTyping("gate"), ""))).toBe("");
});

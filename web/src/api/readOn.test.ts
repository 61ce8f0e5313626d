import { expect, test } from "vitest";

import { readOn } from "./readOn";

interface Piece {
  text: string;
  cursor: string;
}

const piece = (text: string): Piece => ({ text, cursor: `after ${text}` });

test("a list that grows is read page after page, and on from its last entry", async () => {
  const asked: { cursor?: string }[] = [];
  const answers = [
    { rows: [piece("one"), piece("two")], cursor: "after two" },
    { rows: [piece("three")], cursor: null },
    { rows: [piece("four")], cursor: null },
    { rows: [], cursor: null },
  ];
  const ask = (from: { cursor?: string }) => {
    asked.push(from);
    return Promise.resolve(answers[asked.length - 1] ?? { rows: [], cursor: null });
  };
  const first = await readOn<Piece>([], ask);
  expect(first.map(({ text }) => text)).toEqual(["one", "two", "three"]);
  const second = await readOn(first, ask);
  expect(second.map(({ text }) => text)).toEqual(["one", "two", "three", "four"]);
  expect(await readOn(second, ask)).toEqual(second);
  expect(asked).toEqual([{}, { cursor: "after two" }, { cursor: "after three" }, { cursor: "after four" }]);
});

test("a list without an end is given up some time", async () => {
  let asked = 0;
  const endless = () => {
    asked += 1;
    return Promise.resolve({ rows: [piece("again")], cursor: "again" });
  };
  await readOn<Piece>([], endless);
  expect(asked).toBe(100);
});

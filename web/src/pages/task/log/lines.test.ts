import { describe, expect, it } from "vitest";

import { found, LINES_MAX, linesOf, marked, plain } from "./lines";

const AT = "2026-01-01T00:00:00Z";
const piece = (text: string) => ({ attempt: 1, at: AT, text, cursor: text });

describe("a log", () => {
  it("is read line by line, whatever a piece holds", () => {
    const { lines } = linesOf([piece("one\ntwo"), piece("three\n"), piece("")]);
    expect(lines.map(({ text }) => text)).toEqual(["one", "two", "three", ""]);
  });

  it("marks where the hub or the daemon left something out", () => {
    const { lines } = linesOf([
      piece("said\n[… cut: more than one message holds …]"),
      piece("\n[log cut: this attempt has said more than is kept]\n"),
    ]);
    expect(lines.map(({ isGap }) => isGap)).toEqual([false, true, true]);
  });

  it("keeps the newest lines and counts the others", () => {
    const all = Array.from({ length: LINES_MAX + 5 }, (_, index) => String(index));
    const { lines, leftOut } = linesOf([piece(all.slice(0, 100).join("\n")), piece(all.slice(100).join("\n"))]);
    expect(lines).toHaveLength(LINES_MAX);
    expect(lines[0]?.text).toBe("5");
    expect(leftOut).toBe(5);
  });

  it.each([
    ["\u001b[31mred\u001b[0m plain", "red plain"],
    ["\u001b]0;a title\u0007said", "said"],
    ["\u001b(Bsaid", "said"],
    ["10 %\r50 %\r100 %\r", "100 %"],
    ["a\u0000b\u007f", "a␀b␡"],
    ["tab\tstays", "tab\tstays"],
    ["<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"],
  ])("is shown as a terminal would leave it: %j", (raw, shown) => {
    expect(plain(raw)).toBe(shown);
  });

  it("is searched without regard to capitals", () => {
    const { lines } = linesOf([piece("Alpha\nbeta\nALPHABET")]);
    expect(found(lines, "alpha")).toEqual([0, 2]);
    expect(found(lines, "")).toEqual([]);
  });

  it("marks every place that was found", () => {
    expect(marked("to be or not to be", "TO")).toEqual([
      { text: "to", isFound: true },
      { text: " be or not ", isFound: false },
      { text: "to", isFound: true },
      { text: " be", isFound: false },
    ]);
  });
});

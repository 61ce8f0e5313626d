import { expect, it } from "vitest";

import { type GraphData, NODE, place } from "./layout";

const node = (id: string) => ({ id, ref: id, title: id, status: "queued", type: "t" }) as const;
const edge = (from: string, to: string) => ({ from, to, kind: "dependency" }) as const;

it("stands a diamond from left to right, and lets no two tasks cover each other", () => {
  const data: GraphData = {
    nodes: ["a", "b", "c", "d"].map(node),
    edges: [edge("a", "b"), edge("a", "c"), edge("b", "d"), edge("c", "d")],
    truncated: false,
  };
  const { at, lines, width } = place(data);
  const [a, b, c, d] = ["a", "b", "c", "d"].map((id) => at.get(id));
  expect(a?.x).toBeLessThan(b?.x ?? 0);
  expect(b?.x).toBe(c?.x);
  expect(d?.x).toBeGreaterThan(c?.x ?? 0);
  expect(Math.abs((b?.y ?? 0) - (c?.y ?? 0))).toBeGreaterThanOrEqual(NODE.height);
  expect(width).toBeGreaterThan(3 * NODE.width);
  expect(lines).toHaveLength(4);
});

it("leaves out a tie to a task that is not shown", () => {
  expect(place({ nodes: [node("a")], edges: [edge("a", "gone")], truncated: true }).lines).toEqual([]);
});

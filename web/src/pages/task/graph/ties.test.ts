import { expect, it } from "vitest";

import type { GraphData } from "./layout";
import { tiesOf } from "./ties";

it("sorts a graph by what each task is to the one that is looked at", () => {
  const data = {
    nodes: ["own", "whole", "part", "first", "next", "far"].map((id) => ({ id, ref: id, title: id, status: "queued", type: "t" })),
    edges: [
      { from: "whole", to: "own", kind: "subtask" },
      { from: "own", to: "part", kind: "subtask" },
      { from: "first", to: "own", kind: "dependency" },
      { from: "own", to: "next", kind: "dependency" },
      { from: "next", to: "far", kind: "dependency" },
    ],
    truncated: false,
  } as GraphData;
  expect(tiesOf("own", data).map(({ name, nodes }) => [name, nodes.map((node) => node.id)])).toEqual([
    ["Part of", ["whole"]],
    ["Sub-tasks", ["part"]],
    ["Depends on", ["first"]],
    ["Waits for it", ["next"]],
    ["Further away", ["far"]],
  ]);
});

/** Where each task of a graph stands. A file of its own: the layout's library is fetched only when one is looked at. */

import { Graph, layout } from "@dagrejs/dagre";

import type { Schemas } from "~/api/client";

export type GraphData = Schemas["GraphAnswer"];

export const NODE = { width: 216, height: 56 } as const;
const BETWEEN = { nodesep: 20, ranksep: 56, marginx: 16, marginy: 16 } as const;

export interface Placed {
  width: number;
  height: number;
  /** Upper left corners, by task. */
  at: Map<string, { x: number; y: number }>;
  lines: { id: string; from: string; to: string; kind: string; path: string }[];
}

export function place(data: GraphData): Placed {
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", ...BETWEEN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of data.nodes) graph.setNode(node.id, { ...NODE });
  const known = new Set(data.nodes.map((node) => node.id));
  const edges = data.edges.filter((edge) => known.has(edge.from) && known.has(edge.to));
  for (const edge of edges) graph.setEdge(edge.from, edge.to);
  layout(graph);
  const at = new Map(
    data.nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE.width / 2, y: y - NODE.height / 2 }];
    }),
  );
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const lines = edges.map(({ from, to, kind }) => {
    const { points } = graph.edge(from, to) as { points: { x: number; y: number }[] };
    return { id: `${from}-${to}-${kind}`, from, to, kind, path: curve(points) };
  });
  return { width, height, at, lines };
}

/** Through the middle of each piece, so that bends are round. */
function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (first === undefined || last === undefined) return "";
  const said = [`M${String(first.x)},${String(first.y)}`];
  rest.slice(0, -1).forEach((point, index) => {
    const next = rest[index + 1] ?? point;
    said.push(`Q${String(point.x)},${String(point.y)} ${String((point.x + next.x) / 2)},${String((point.y + next.y) / 2)}`);
  });
  return [...said, `L${String(last.x)},${String(last.y)}`].join(" ");
}

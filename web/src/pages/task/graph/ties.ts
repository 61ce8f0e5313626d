/** Who is what to a task, of all that its graph holds. */

import type { GraphData } from "./layout";

export interface Tie {
  name: string;
  nodes: GraphData["nodes"];
}

export function tiesOf(own: string, { nodes, edges }: GraphData): Tie[] {
  const ends = (kind: string, at: "from" | "to", other: "from" | "to") =>
    new Set(edges.filter((edge) => edge.kind === kind && edge[at] === own).map((edge) => edge[other]));
  const kinds: [string, Set<string>][] = [
    ["Part of", ends("subtask", "to", "from")],
    ["Sub-tasks", ends("subtask", "from", "to")],
    ["Depends on", ends("dependency", "to", "from")],
    ["Waits for it", ends("dependency", "from", "to")],
  ];
  const near = new Set([own, ...kinds.flatMap(([, ids]) => [...ids])]);
  const far = new Set(nodes.map((node) => node.id).filter((id) => !near.has(id)));
  return [...kinds, ["Further away", far] as const]
    .map(([name, ids]) => ({ name, nodes: nodes.filter((node) => ids.has(node.id)) }))
    .filter((tie) => tie.nodes.length > 0);
}

/** Where one can go: the navigation, the palette and the g-shortcuts are made from this one list. */

import type { LucideIcon } from "lucide-react";
import {
  ChartNoAxesColumn,
  CircleGauge,
  CirclePlus,
  Inbox,
  KeyRound,
  Layers,
  ListTodo,
  Repeat,
  ScrollText,
  Server,
  Unplug,
  Users,
} from "lucide-react";

export interface Place {
  to: string;
  label: string;
  icon: LucideIcon;
  /** The key after g. */
  key: string;
  group: "Work" | "Yard" | "Admin";
  /** On the bottom bar of a phone; the others are behind "More". */
  isMain?: boolean;
}

export const PLACES: readonly Place[] = [
  { to: "/", label: "Overview", icon: CircleGauge, key: "o", group: "Work", isMain: true },
  { to: "/queue", label: "Queue", icon: ListTodo, key: "q", group: "Work", isMain: true },
  { to: "/add", label: "Add task", icon: CirclePlus, key: "a", group: "Work", isMain: true },
  { to: "/workflows", label: "Workflows", icon: Repeat, key: "w", group: "Work" },
  { to: "/dead-letters", label: "Dead letters", icon: Inbox, key: "l", group: "Work", isMain: true },
  { to: "/daemons", label: "Daemons", icon: Server, key: "d", group: "Yard" },
  { to: "/queues", label: "Queues", icon: Layers, key: "u", group: "Yard" },
  { to: "/breakers", label: "Breakers", icon: Unplug, key: "b", group: "Yard" },
  { to: "/admin/users", label: "Users", icon: Users, key: "s", group: "Admin" },
  { to: "/admin/plans", label: "Plans", icon: ChartNoAxesColumn, key: "p", group: "Admin" },
  { to: "/admin/keys", label: "Keys", icon: KeyRound, key: "k", group: "Admin" },
  { to: "/admin/audit", label: "Audit", icon: ScrollText, key: "t", group: "Admin" },
];

export function placesFor(isAdmin: boolean): readonly Place[] {
  return isAdmin ? PLACES : PLACES.filter((place) => place.group !== "Admin");
}

import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { type Filters, parseFilters, writeFilters } from "./lib/filters";
import { PageFault, PageNotFound } from "./shell/Faults";
import { Shell } from "./shell/Shell";

interface Context {
  client: QueryClient;
}

const root = createRootRouteWithContext<Context>()({
  component: Shell,
  notFoundComponent: PageNotFound,
  // Each page reads of its address what it knows and leaves the rest alone.
  validateSearch: (search: Record<string, unknown>): Filters => search as Filters,
});

const getParentRoute = () => root;

const routes = [
  createRoute({ getParentRoute, path: "/", component: lazyRouteComponent(() => import("./pages/overview/OverviewPage")) }),
  createRoute({ getParentRoute, path: "/queue", component: lazyRouteComponent(() => import("./pages/queue/QueuePage")) }),
  createRoute({ getParentRoute, path: "/tasks/$id", component: lazyRouteComponent(() => import("./pages/task/TaskPage")) }),
  createRoute({ getParentRoute, path: "/workflows", component: lazyRouteComponent(() => import("./pages/workflows/WorkflowsPage")) }),
  createRoute({ getParentRoute, path: "/dead-letters", component: lazyRouteComponent(() => import("./pages/dead-letters/DeadLettersPage")) }),
  createRoute({ getParentRoute, path: "/daemons", component: lazyRouteComponent(() => import("./pages/daemons/DaemonsPage")) }),
  createRoute({ getParentRoute, path: "/queues", component: lazyRouteComponent(() => import("./pages/queues/QueuesPage")) }),
  createRoute({ getParentRoute, path: "/breakers", component: lazyRouteComponent(() => import("./pages/breakers/BreakersPage")) }),
  createRoute({ getParentRoute, path: "/add", component: lazyRouteComponent(() => import("./pages/add/AddPage")) }),
  createRoute({
    getParentRoute,
    path: "/admin",
    beforeLoad: () => {
      throw redirect({ to: "/admin/users" });
    },
  }),
  createRoute({ getParentRoute, path: "/admin/users", component: lazyRouteComponent(() => import("./pages/admin/UsersPage")) }),
  createRoute({ getParentRoute, path: "/admin/plans", component: lazyRouteComponent(() => import("./pages/admin/PlansPage")) }),
  createRoute({ getParentRoute, path: "/admin/keys", component: lazyRouteComponent(() => import("./pages/admin/KeysPage")) }),
  createRoute({ getParentRoute, path: "/admin/audit", component: lazyRouteComponent(() => import("./pages/admin/AuditPage")) }),
] as const;

export function newRouter(client: QueryClient) {
  return createRouter({
    routeTree: root.addChildren(routes),
    context: { client },
    parseSearch: parseFilters,
    stringifySearch: writeFilters,
    defaultPreload: "intent",
    defaultErrorComponent: PageFault,
    defaultNotFoundComponent: PageNotFound,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof newRouter>;
  }
}

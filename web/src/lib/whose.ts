import { useIsAdmin } from "~/api/queries/session";

import { useStore } from "./store";
import { whoseStore } from "./preferences";

export interface Whose {
  user?: string;
}

/** For lists, where an admin may see everybody's: the `user` of their query. */
export function useWhose(): Whose {
  const chosen = useStore(whoseStore);
  return useIsAdmin() && chosen !== "" ? { user: chosen } : {};
}

/** For what is always one user's (why, limits, breakers): the chosen one's, else one's own. */
export function useWhoseOwn(): Whose {
  const whose = useWhose();
  return whose.user === "*" ? {} : whose;
}

import { useEffect, useMemo } from "react";

import { useIsAdmin } from "~/api/queries/session";
import { whoseStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";
import { useWhose, type Whose } from "~/lib/whose";

/** Whose tasks are listed: for admins the user that the address names, else whoever is chosen in the page's head. */
export function useAskedWhose(named: string | undefined): Whose {
  const isAdmin = useIsAdmin();
  const { user: chosen } = useWhose();
  const isNamed = isAdmin && named !== undefined && named !== "";
  const head = useStore(whoseStore);
  const isOther = isNamed && head !== "*" && head !== named;
  useEffect(() => {
    // The stream tells of those that the head names: of all of them it tells of this one too.
    if (isOther) whoseStore.set("*");
  }, [isOther]);
  const user = isNamed ? named : chosen;
  return useMemo(() => (user === undefined ? {} : { user }), [user]);
}

import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";

import { usersQuery } from "~/api/queries/people";
import { useMe } from "~/api/queries/session";
import { whoseStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";
import { Select } from "~/ui/Select";

/** For admins: whose tasks, schedules and dead letters the pages show. */
export function WhoseSelect({ hideLabel = false }: { hideLabel?: boolean }) {
  const me = useMe();
  const users = useQuery(usersQuery);
  const whose = useStore(whoseStore);
  const isUnknown = users.data !== undefined && whose.length > 1 && !users.data.some((user) => user.id === whose);
  useEffect(() => {
    // Chosen at another yard that had this address, or removed since: every list would say "no such user".
    if (isUnknown) whoseStore.set("*");
  }, [isUnknown]);
  const others = (users.data ?? []).filter((user) => user.id !== me.id);
  if (others.length === 0) return null;
  return (
    <Select
      label="Whose tasks"
      hideLabel={hideLabel}
      value={whose}
      onChange={(value) => {
        whoseStore.set(value);
      }}
      options={[
        { value: "*", label: "Everybody" },
        { value: "", label: `${me.name} (you)` },
        ...others.map((user) => ({ value: user.id, label: user.name })),
      ]}
      className="border-line md:w-40"
    />
  );
}

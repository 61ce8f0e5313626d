import { useQuery } from "@tanstack/react-query";

import { usersQuery } from "~/api/queries/people";
import { useMe } from "~/api/queries/session";
import { whoseStore } from "~/lib/preferences";
import { useStore } from "~/lib/store";
import { Select } from "~/ui/Select";

/** For admins: whose tasks, schedules and dead letters the pages show. */
export function WhoseSelect() {
  const me = useMe();
  const users = useQuery(usersQuery);
  const whose = useStore(whoseStore);
  const others = (users.data ?? []).filter((user) => user.id !== me.id);
  if (others.length === 0) return null;
  return (
    <Select
      label="Whose tasks"
      hideLabel
      value={whose}
      onChange={(value) => {
        whoseStore.set(value);
      }}
      options={[
        { value: "*", label: "Everybody" },
        { value: "", label: `${me.name} (you)` },
        ...others.map((user) => ({ value: user.id, label: user.name })),
      ]}
      className="w-40 border-line"
    />
  );
}

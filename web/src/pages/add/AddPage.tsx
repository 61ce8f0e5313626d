import { useQuery } from "@tanstack/react-query";

import { usersQuery } from "~/api/queries/people";
import { useFilters } from "~/lib/filters";
import { useWhoseOwn } from "~/lib/whose";
import { PageHeader } from "~/ui/PageHeader";
import { Tabs } from "~/ui/Tabs";

import { AddForm } from "./AddForm";
import { Chat } from "./Chat";

const TABS = [
  { id: "form", label: "Fill in a form" },
  { id: "chat", label: "Say it in words" },
];

export default function AddPage() {
  const [filters, setFilters] = useFilters();
  const by = filters.by === "chat" ? "chat" : "form";
  return (
    <>
      <PageHeader title="Add task">
        <ForWhom />
      </PageHeader>
      <Tabs
        label="How to add"
        tabs={TABS}
        value={by}
        onChange={(id) => {
          setFilters({ by: id === "chat" ? "chat" : undefined });
        }}
      >
        <div className="pt-4">{by === "chat" ? <Chat /> : <AddForm />}</div>
      </Tabs>
    </>
  );
}

/** An admin who looks at somebody's tasks adds to those. */
function ForWhom() {
  const { user } = useWhoseOwn();
  const users = useQuery({ ...usersQuery, enabled: user !== undefined }).data;
  if (user === undefined) return "It is done under your name and counts towards your limits.";
  return `It is done for ${users?.find((one) => one.id === user)?.name ?? user} and counts towards their limits.`;
}

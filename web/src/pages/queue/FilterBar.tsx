import { useQuery } from "@tanstack/react-query";
import { ListFilter, Search, X } from "lucide-react";
import { memo, useId, useRef, useState } from "react";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { queuesQuery } from "~/api/queries/yard";
import { useShortcut } from "~/keyboard/shortcuts";
import { cx } from "~/lib/classes";
import type { Filters } from "~/lib/filters";
import { useIsNarrow } from "~/lib/narrow";
import { useTyped } from "~/lib/typed";
import type { Whose } from "~/lib/whose";
import { Button } from "~/ui/Button";
import { CONTROL } from "~/ui/Field";
import { Select } from "~/ui/Select";
import { LEVEL, LEVELS, SOURCE, STATUS, STATUSES } from "~/words";

import { isNarrowed, NARROWING, SOURCES, statusesOf, tabOf } from "./listed";

interface Props {
  filters: Filters;
  onChange: (change: Filters) => void;
  whose: Whose;
  /** Types that are in the list: offered while one is typed. */
  types: readonly string[];
}

/** Remembered: the list below changes several times a second, and this does not. */
export const FilterBar = memo(function FilterBar({ filters, onChange, whose, types }: Props) {
  const isNarrow = useIsNarrow();
  const [isOpen, setIsOpen] = useState(false);
  const chosen = [...NARROWING.filter((name) => name !== "q"), "user"].filter((name) => Boolean(filters[name])).length;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line p-2 md:px-3">
      <SearchField value={filters.q ?? ""} onChange={(q) => { onChange({ q }); }} />
      {isNarrow && (
        <Button
          icon={<ListFilter />}
          aria-expanded={isOpen}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          Filters{chosen > 0 && ` (${String(chosen)})`}
        </Button>
      )}
      {(!isNarrow || isOpen) && <Choices filters={filters} onChange={onChange} whose={whose} types={types} />}
      {(isNarrowed(filters) || Boolean(filters.user)) && (!isNarrow || isOpen) && (
        <Button
          look="bare"
          icon={<X />}
          onClick={() => {
            onChange(Object.fromEntries([...NARROWING, "user"].map((name) => [name, undefined])));
          }}
        >
          Clear
        </Button>
      )}
    </div>
  );
});

function Choices({ filters, onChange, whose, types }: Props) {
  const isAdmin = useIsAdmin();
  const queues = useQuery(queuesQuery(whose));
  const users = useQuery({ ...usersQuery, enabled: isAdmin });
  const statuses = statusesOf(filters.status);
  const names = new Set([...(queues.data ?? []).map((queue) => queue.name), ...(filters.queue ? [filters.queue] : [])]);
  const look = "border-line md:w-33";
  return (
    <div className="grid grid-cols-2 gap-2 max-md:w-full md:contents">
      <Select
        label="Status"
        hideLabel
        value={statuses.length === 1 ? (statuses[0] ?? "") : ""}
        onChange={(status) => { onChange({ status }); }}
        options={[
          { value: "", label: tabOf(filters.status) === "all" ? "Any status" : "Any of these" },
          ...STATUSES.map((status) => ({ value: status, label: STATUS[status].label })),
        ]}
        className="border-line md:w-36"
      />
      <TypeField value={filters.type ?? ""} types={types} onChange={(type) => { onChange({ type }); }} />
      <Select
        label="Queue"
        hideLabel
        value={filters.queue ?? ""}
        onChange={(queue) => { onChange({ queue }); }}
        options={[{ value: "", label: "Any queue" }, ...[...names].map((name) => ({ value: name, label: name }))]}
        className={look}
      />
      <Select
        label="Source"
        hideLabel
        value={filters.source ?? ""}
        onChange={(source) => { onChange({ source }); }}
        options={[{ value: "", label: "Any source" }, ...SOURCES.map((one) => ({ value: one, label: SOURCE[one] }))]}
        className={look}
      />
      <Select
        label="Priority"
        hideLabel
        value={filters.priority ?? ""}
        onChange={(priority) => { onChange({ priority }); }}
        options={[{ value: "", label: "Any priority" }, ...LEVELS.map((level) => ({ value: level, label: LEVEL[level].label }))]}
        className={look}
      />
      {isAdmin && (users.data?.length ?? 0) > 1 && (
        <Select
          label="User"
          hideLabel
          value={filters.user ?? ""}
          onChange={(user) => { onChange({ user }); }}
          options={[
            { value: "", label: "Any user" },
            ...(users.data ?? []).map((user) => ({ value: user.id, label: user.name })),
          ]}
          className={look}
        />
      )}
    </div>
  );
}

function SearchField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, type] = useTyped(value, onChange);
  useShortcut("/", "Search the list", () => {
    field.current?.focus();
    field.current?.select();
  });
  return (
    <div className="relative min-w-40 flex-1 md:max-w-64">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
      <input
        ref={field}
        type="search"
        aria-label="Search tasks"
        placeholder="Title, ref or id"
        value={typed}
        onChange={(event) => {
          type(event.target.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
        }}
        className={cx(CONTROL, "h-8 border-line pl-8")}
      />
    </div>
  );
}

function TypeField({ value, types, onChange }: { value: string; types: readonly string[]; onChange: (value: string) => void }) {
  const id = useId();
  const [typed, type] = useTyped(value, onChange);
  return (
    <>
      <input
        aria-label="Type"
        placeholder="Any type"
        list={id}
        value={typed}
        onChange={(event) => {
          type(event.target.value);
        }}
        className={cx(CONTROL, "h-8 border-line md:w-28")}
      />
      <datalist id={id}>
        {types.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </>
  );
}

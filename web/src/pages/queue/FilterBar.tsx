import { useQuery } from "@tanstack/react-query";
import { ListFilter, Search, X } from "lucide-react";
import { memo, useId, useRef, useState } from "react";

import { usersQuery } from "~/api/queries/people";
import { useIsAdmin } from "~/api/queries/session";
import { queuesQuery } from "~/api/queries/yard";
import { useShortcut } from "~/keyboard/shortcuts";
import { cx } from "~/lib/classes";
import type { Filters } from "~/lib/filters";
import { useIsTight } from "~/lib/narrow";
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
  onClear: () => void;
  /** How often that was: what is only typed so far is in no address. */
  clearings: number;
  whose: Whose;
  /** Types that are in the list: offered while one is typed. */
  types: readonly string[];
}

/** Remembered: the list below changes several times a second, and this does not. */
export const FilterBar = memo(function FilterBar(props: Props) {
  const { filters, onChange, onClear, clearings } = props;
  const isTight = useIsTight();
  const [isOpen, setIsOpen] = useState(false);
  const chosen = [...NARROWING.filter((name) => name !== "q"), "user"].filter((name) => Boolean(filters[name])).length;
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line p-2 md:px-3">
      <SearchField value={filters.q ?? ""} clearings={clearings} onChange={(q) => { onChange({ q }); }} />
      {isTight && (
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
      {(!isTight || isOpen) && <Choices {...props} />}
      {(isNarrowed(filters) || Boolean(filters.user)) && (!isTight || isOpen) && (
        <Button look="bare" icon={<X />} onClick={onClear}>
          Clear
        </Button>
      )}
    </div>
  );
});

function Choices({ filters, onChange, clearings, whose, types }: Props) {
  const isAdmin = useIsAdmin();
  const queues = useQuery(queuesQuery(whose));
  const users = useQuery({ ...usersQuery, enabled: isAdmin });
  const statuses = statusesOf(filters.status);
  const names = new Set([...(queues.data ?? []).map((queue) => queue.name), ...(filters.queue ? [filters.queue] : [])]);
  const look = "border-line lg:w-32";
  return (
    <div className="grid grid-cols-2 gap-2 max-lg:w-full md:grid-cols-3 lg:contents">
      <Select
        label="Status"
        hideLabel
        value={statuses.length === 1 ? (statuses[0] ?? "") : ""}
        onChange={(status) => { onChange({ status }); }}
        options={[
          { value: "", label: tabOf(filters.status) === "all" ? "Any status" : "Any of these" },
          ...STATUSES.map((status) => ({ value: status, label: STATUS[status].label })),
        ]}
        className="border-line lg:w-36"
      />
      <TypeField value={filters.type ?? ""} clearings={clearings} types={types} onChange={(type) => { onChange({ type }); }} />
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
        className="border-line lg:w-36"
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

interface TypedProps {
  value: string;
  clearings: number;
  onChange: (value: string) => void;
}

function SearchField({ value, clearings, onChange }: TypedProps) {
  const field = useRef<HTMLInputElement>(null);
  const [typed, type, tellNow] = useTyped(value, onChange, clearings);
  useShortcut("/", "Search the list", () => {
    field.current?.focus();
    field.current?.select();
  });
  return (
    <div className="relative min-w-40 flex-1 lg:max-w-64">
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
          if (event.nativeEvent.isComposing || (event.key !== "Escape" && event.key !== "Enter")) return;
          // The keys are the list's from now on: it should be the one that was asked for.
          tellNow();
          event.currentTarget.blur();
        }}
        className={cx(CONTROL, "h-8 border-line pl-8")}
      />
    </div>
  );
}

function TypeField({ value, clearings, types, onChange }: TypedProps & { types: readonly string[] }) {
  const id = useId();
  const [typed, type] = useTyped(value, onChange, clearings);
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
        className={cx(CONTROL, "h-8 border-line lg:w-28")}
      />
      <datalist id={id}>
        {types.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </>
  );
}

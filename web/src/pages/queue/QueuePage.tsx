import { useCallback, useEffect, useMemo, useRef, useState } from "react";

import { answer, api, type Level } from "~/api/client";
import { useShortcut } from "~/keyboard/shortcuts";
import { useFilters } from "~/lib/filters";
import { short } from "~/lib/format";
import { useOpenTask } from "~/lib/openTask";
import { type Action, BULK_MAX } from "~/lib/taskActions";
import { PageHeader } from "~/ui/PageHeader";
import { Tabs } from "~/ui/Tabs";
import { toastProblem } from "~/ui/Toasts";

import { ActionDialog } from "./ActionDialog";
import { FilterBar } from "./FilterBar";
import { countOf, mayHaveRun, NOT_NARROWED, queryOf, tabOf, TABS } from "./listed";
import { ListEnd, Nothing } from "./ListEnd";
import { type Row, rowOf } from "./rows";
import { SelectionBar } from "./SelectionBar";
import { type ListRest, TaskRows } from "./TaskRows";
import { useActions } from "./useActions";
import { useAskedWhose } from "./useAskedWhose";
import { useCounts } from "./useCounts";
import { useNames } from "./useNames";
import { useSelection } from "./useSelection";
import { useTaskList } from "./useTaskList";

export default function QueuePage() {
  const [filters, change] = useFilters();
  const [clearings, setClearings] = useState(0);
  const clearFilters = useCallback(() => {
    change(NOT_NARROWED);
    setClearings((before) => before + 1);
  }, [change]);
  const whose = useAskedWhose(filters.user);
  const query = queryOf(filters, whose);
  const rest = useRef<ListRest>(null);
  const top = useRef(0);
  const { list, shown } = useTaskList(
    query,
    () => rest.current?.isAtRest() ?? true,
    () => top.current,
  );
  const { selection, toggle, choose, clear } = useSelection(list);
  const { intent, begin, done, close } = useActions(whose, clear);
  const [atCursor, setAtCursor] = useState<Row | undefined>();
  const counts = useCounts(whose);
  const names = useNames(whose);
  const open = useOpenTask();
  const key = JSON.stringify(query);
  useEffect(clear, [clear, key]);

  const beginAll = (action: Action, level?: Level) => {
    begin(action, selection.size > 0 ? [...selection.values()] : atCursor === undefined ? [] : [atCursor], level);
  };
  useActionKeys(beginAll, clear);
  const beginOne = useCallback(
    (action: Action, row: Row, level?: Level) => {
      begin(action, [row], level);
    },
    [begin],
  );
  const chooseAll = () => {
    if (selection.size > 0) clear();
    // Pages far away are not kept: then the hub is asked, so that it is the newest that are chosen.
    else if (!shown.hasMore && list.kept().length === shown.rows) choose(list.kept());
    else {
      answer(api.GET("/api/v1/tasks", { params: { query: { ...query, limit: BULK_MAX } } }))
        .then((tasks) => {
          choose(tasks.map(rowOf));
        })
        .catch(toastProblem);
    }
  };
  const types = useTypes(list.kept());
  const selected = useMemo(() => new Set(selection.keys()), [selection]);

  return (
    <div className="flex h-[calc(100dvh-8.5rem)] min-h-96 flex-col md:h-[calc(100dvh-6rem)]">
      <PageHeader title="Queue" />
      <div className="flex min-h-0 flex-1 flex-col overflow-hidden rounded-lg border border-line bg-surface">
        <Tabs
          label="Tasks by status"
          value={tabOf(filters.status)}
          onChange={(tab) => {
            change({ status: tab === "all" ? undefined : tab });
          }}
          tabs={TABS.map((tab) => ({ ...tab, count: counts === undefined ? undefined : short(countOf(tab.id, counts)) }))}
        />
        <div className="relative">
          <FilterBar filters={filters} onChange={change} onClear={clearFilters} clearings={clearings} whose={whose} types={types} />
          {selection.size > 0 && (
            <SelectionBar size={selection.size} hasMore={shown.hasMore} onClear={clear} onDo={beginAll} />
          )}
        </div>
        {shown.rows === 0 ? (
          <Nothing list={list} shown={shown} filters={filters} onClear={clearFilters} />
        ) : (
          <TaskRows
            key={key}
            list={list}
            shown={shown}
            mayHaveRun={mayHaveRun(filters.status)}
            selected={selected}
            onToggle={toggle}
            onToggleAll={chooseAll}
            onOpen={open}
            onCursor={setAtCursor}
            onDo={beginOne}
            ownerOf={names.ownerOf}
            daemonOf={names.daemonOf}
            rest={rest}
            top={top}
            footer={<ListEnd list={list} shown={shown} isSearch={query.q !== undefined} />}
          />
        )}
      </div>
      <ActionDialog intent={intent} whose={whose} onClose={close} onDone={done} />
    </div>
  );
}

function useActionKeys(begin: (action: Action) => void, clear: () => void): void {
  useShortcut("c", "Cancel what is selected", () => {
    begin("cancel");
  });
  useShortcut("r", "Retry what is selected", () => {
    begin("retry");
  });
  useShortcut("s", "Skip what is selected", () => {
    begin("skip");
  });
  useShortcut("p", "Change the priority of what is selected", () => {
    begin("reprioritise");
  });
  useShortcut("Escape", "Select nothing", clear);
}

/** The same array for as long as they are the same types: there are many rows, and few types. */
function useTypes(rows: readonly Row[]): readonly string[] {
  const types = [...new Set(rows.map((row) => row.type))].sort();
  const [before, setBefore] = useState(types);
  const isSame = before.length === types.length && before.every((type, index) => type === types[index]);
  if (!isSame) setBefore(types);
  return isSame ? before : types;
}

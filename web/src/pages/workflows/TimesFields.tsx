import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { type GoesBy, presetsQuery, previewQuery } from "~/api/queries/schedules";
import { cx } from "~/lib/classes";
import { useDebounced } from "~/lib/debounced";
import { useZone } from "~/lib/preferences";
import { faultsIn, type Faults } from "~/task-form/faults";
import { Field } from "~/ui/Field";
import { Select } from "~/ui/Select";
import { Skeleton } from "~/ui/Skeleton";

import { Runs } from "./Runs";
import { goesBy, type ScheduleDraft } from "./scheduleDraft";
import { cronWords, splitEvery, type Unit, UNITS } from "./when";
import { ZoneField } from "./ZoneField";

interface Props {
  draft: ScheduleDraft;
  onChange: (change: Partial<ScheduleDraft>) => void;
  faults: Faults;
}

const UNIT_OPTIONS = Object.entries(UNITS).map(([value, name]) => ({ value, label: `${name}s` }));
const PREVIEWED = ["cron", "every", "timezone"];

/** When it runs: by the calendar or by an interval, with what that comes to while it is typed. */
export function TimesFields({ draft, onChange, faults }: Props) {
  const own = useZone();
  const isCron = draft.how === "cron";
  const zone = isCron ? draft.zone : own;
  const asked = useDebounced(JSON.stringify([goesBy(draft), zone]));
  const [by, askedZone] = JSON.parse(asked) as [GoesBy, string];
  const isEmpty = Object.values(by).some((value) => /^[smhdw]?$/.test(String(value)));
  const preview = useQuery({ ...previewQuery(by, askedZone), enabled: !isEmpty, placeholderData: keepPreviousData });
  const typed = faultsIn(preview.error, PREVIEWED);
  const wrong = (path: string, label: string) => typed.of(path, label) ?? faults.of(path, label);
  const words = isCron ? cronWords(draft.cron) : null;
  return (
    <>
      <Presets onChoose={onChange} draft={draft} />
      <div role="radiogroup" aria-label="It goes by" className="flex flex-wrap gap-x-5 gap-y-1">
        <Way chosen={isCron} onChoose={() => { onChange({ how: "cron" }); }}>
          The calendar
        </Way>
        <Way chosen={!isCron} onChoose={() => { onChange({ how: "every" }); }}>
          An interval
        </Way>
      </div>
      {isCron ? (
        <div className="grid items-start gap-4 sm:grid-cols-2">
          <Field
            label="Cron expression"
            className="font-mono"
            spellCheck={false}
            autoComplete="off"
            hint={words === null ? "Minute, hour, day, month, weekday." : `${words}.`}
            error={wrong("cron", "The expression")}
            value={draft.cron}
            onChange={(event) => {
              onChange({ cron: event.target.value });
            }}
          />
          <ZoneField
            value={draft.zone}
            error={wrong("timezone", "The time zone")}
            onChange={(chosen) => {
              onChange({ zone: chosen });
            }}
          />
        </div>
      ) : (
        <div className="grid grid-cols-2 items-start gap-4">
          <Field
            type="number"
            min={1}
            label="Every"
            error={wrong("every", "The interval")}
            value={draft.amount}
            onChange={(event) => {
              onChange({ amount: event.target.value });
            }}
          />
          <Select
            label="Unit"
            options={UNIT_OPTIONS}
            value={draft.unit}
            onChange={(unit) => {
              onChange({ unit: unit as Unit });
            }}
          />
        </div>
      )}
      <div className="rounded-md border border-line bg-page px-3 py-2" aria-live="polite">
        <p className="mb-1 font-medium">
          Next runs <span className="font-normal text-ink-3">in {askedZone.replaceAll("_", " ")}</span>
        </p>
        {preview.error !== null ? (
          <p className="text-ink-2">
            {typed.rest ?? "They are shown here as soon as the time above can be read."}
          </p>
        ) : isEmpty ? (
          <p className="text-ink-2">Say when it runs, and they are shown here.</p>
        ) : preview.data === undefined ? (
          <Skeleton className="h-28" />
        ) : (
          <Runs label="Next runs" runs={preview.data} zone={askedZone} byClock={isCron} />
        )}
      </div>
    </>
  );
}

function Presets({ draft, onChoose }: { draft: ScheduleDraft; onChoose: (change: Partial<ScheduleDraft>) => void }) {
  const presets = useQuery(presetsQuery).data ?? [];
  const now = JSON.stringify(goesBy(draft));
  return (
    <div role="group" aria-label="Presets" className="flex flex-wrap gap-2">
      {presets.map((preset) => {
        const split = preset.every == null ? null : splitEvery(preset.every);
        const change: Partial<ScheduleDraft> = split === null ? { how: "cron", cron: preset.cron ?? "" } : { how: "every", ...split };
        const isChosen = JSON.stringify(goesBy({ ...draft, ...change })) === now;
        return (
          <button
            key={preset.name}
            type="button"
            aria-pressed={isChosen}
            onClick={() => {
              onChoose(change);
            }}
            className={cx(
              "h-7 rounded-full border px-3",
              isChosen ? "border-accent bg-accent-soft text-accent" : "border-line-strong hover:bg-sunken",
            )}
          >
            {preset.title}
          </button>
        );
      })}
    </div>
  );
}

function Way({ chosen, onChoose, children }: { chosen: boolean; onChoose: () => void; children: ReactNode }) {
  return (
    <label className="inline-flex cursor-pointer items-center gap-2">
      <input type="radio" name="how" checked={chosen} onChange={onChoose} className="accent-accent" />
      {children}
    </label>
  );
}

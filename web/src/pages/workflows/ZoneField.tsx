import { useId, useState } from "react";

import { cx } from "~/lib/classes";
import { clock } from "~/lib/format";
import { useNow } from "~/lib/now";
import { useZone } from "~/lib/preferences";
import { CONTROL, Labelled } from "~/ui/Field";

import { offsetWords } from "./clocks";

interface Props {
  value: string;
  onChange: (zone: string) => void;
  error: string | undefined;
}

const SHOWN_MAX = 40;
const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };

/** A time zone, found by any part of its name; one's own and UTC come first. */
export function ZoneField({ value, onChange, error }: Props) {
  const own = useZone();
  const now = useNow();
  const list = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const found = typed === null ? [] : fitting(typed, own);

  function choose(zone: string | undefined) {
    if (zone !== undefined) onChange(zone);
    setTyped(null);
  }

  return (
    <Labelled label="Time zone" error={error} hint={`${offsetWords(value, now)}; it is ${clock(now, value)} there now.`}>
      {(ids) => (
        <div>
          <input
            {...ids}
            role="combobox"
            aria-expanded={typed !== null}
            aria-controls={list}
            aria-autocomplete="list"
            aria-activedescendant={typed === null || found.length === 0 ? undefined : `${list}-${String(at)}`}
            autoComplete="off"
            spellCheck={false}
            className={cx(CONTROL, "h-8")}
            value={typed ?? value}
            onFocus={(event) => {
              setAt(0);
              setTyped("");
              event.target.select();
            }}
            onBlur={() => {
              setTyped(null);
            }}
            placeholder={value}
            onChange={(event) => {
              setAt(0);
              setTyped(event.target.value);
            }}
            onKeyDown={(event) => {
              const step = STEPS[event.key];
              if (step !== undefined) {
                event.preventDefault();
                if (typed === null) setTyped("");
                setAt(Math.max(0, Math.min(found.length - 1, at + step)));
              } else if (event.key === "Enter" && typed !== null) {
                event.preventDefault();
                choose(found[at]);
              } else if (event.key === "Escape" && typed !== null) {
                // The first Escape closes the list, not the dialog around it.
                event.preventDefault();
                event.stopPropagation();
                setTyped(null);
              }
            }}
          />
          <ul
            id={list}
            role="listbox"
            aria-label="Time zones"
            hidden={typed === null}
            className="mt-1 max-h-44 overflow-y-auto rounded-md border border-line-strong bg-surface py-1"
          >
            {found.map((zone, index) => (
              // The field itself has the keys: arrows and Enter.
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events
              <li
                key={zone}
                id={`${list}-${String(index)}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === at}
                ref={(element) => {
                  if (index === at) element?.scrollIntoView({ block: "nearest" });
                }}
                onPointerDown={(event) => {
                  event.preventDefault();
                }}
                onClick={() => {
                  choose(zone);
                }}
                className={cx("flex cursor-pointer justify-between gap-3 px-2.5 py-1", index === at && "bg-accent-soft")}
              >
                <span>
                  {zone.replaceAll("_", " ")}
                  {zone === own && <span className="text-ink-3"> (yours)</span>}
                </span>
                <span className="text-ink-3">{offsetWords(zone, now)}</span>
              </li>
            ))}
            {typed !== null && found.length === 0 && (
              <li role="option" aria-selected={false} aria-disabled className="px-2.5 py-1 text-ink-3">
                There is none of that name.
              </li>
            )}
          </ul>
        </div>
      )}
    </Labelled>
  );
}

function fitting(typed: string, own: string): string[] {
  const wanted = typed.trim().toLowerCase().replaceAll(" ", "_");
  const first = [...new Set([own, "UTC"])];
  const all = [...first, ...Intl.supportedValuesOf("timeZone").filter((zone) => !first.includes(zone))];
  return all.filter((zone) => zone.toLowerCase().includes(wanted)).slice(0, SHOWN_MAX);
}

import { cx } from "~/lib/classes";
import { count } from "~/lib/format";

interface Props {
  label: string;
  value: number;
  /** Null: there is no limit, and nothing to fill. */
  max: number | null;
  /** In place of "3 of 8". */
  text?: string;
  hideLabel?: boolean;
  /** Full is a warning here (a limit), not a good use (slots). */
  warns?: boolean;
}

export function Meter({ label, value, max, text, hideLabel = false, warns = false }: Props) {
  const part = max === null || max === 0 ? 0 : Math.min(1, value / max);
  const said = text ?? (max === null ? `${count(value)}, no limit` : `${count(value)} of ${count(max)}`);
  const tone = warns && part >= 1 ? "bg-failed" : warns && part >= 0.8 ? "bg-attention-dot" : "bg-accent";
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div className="flex items-baseline justify-between gap-3">
        {!hideLabel && <span className="truncate text-ink-2">{label}</span>}
        <span className="whitespace-nowrap">{said}</span>
      </div>
      {max !== null && (
        <div
          role="meter"
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={max}
          aria-valuenow={value}
          aria-valuetext={said}
          className="h-1.5 overflow-hidden rounded-full bg-sunken"
        >
          <div className={cx("h-full rounded-full", tone)} style={{ width: `${String(part * 100)}%` }} />
        </div>
      )}
    </div>
  );
}

import { cx } from "~/lib/classes";

interface Props {
  label: string;
  hideLabel?: boolean;
  on: boolean;
  onChange: (on: boolean) => void;
  disabled?: boolean;
}

export function Switch({ label, hideLabel = false, on, onChange, disabled = false }: Props) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => {
        onChange(!on);
      }}
      className="inline-flex items-center gap-2 rounded-md align-middle disabled:opacity-50"
    >
      <span
        aria-hidden
        className={cx(
          "relative h-5 w-9 shrink-0 rounded-full border transition-colors",
          on ? "border-accent bg-accent" : "border-line-strong bg-sunken",
        )}
      >
        <span
          className={cx(
            "absolute top-0.5 left-0.5 size-3.5 rounded-full transition-transform",
            on ? "translate-x-4 bg-on-accent" : "bg-quiet-dot",
          )}
        />
      </span>
      {!hideLabel && label}
    </button>
  );
}

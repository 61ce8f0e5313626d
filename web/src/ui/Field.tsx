import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId } from "react";

import { cx } from "~/lib/classes";

import { Sentence } from "./Sentence";

export const CONTROL =
  "w-full rounded-md border border-line-strong bg-surface px-2.5 py-1.5 text-sm disabled:opacity-60 aria-invalid:border-failed";

interface Around {
  label: string;
  /** Shown to a screen reader only: for where the place itself says what it is. */
  hideLabel?: boolean;
  hint?: ReactNode;
  error?: string | undefined;
}

interface Given extends Around {
  children: (ids: { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined }) => ReactNode;
}

/** A label, a control, what helps to fill it in, and what is wrong with it. */
export function Labelled({ label, hideLabel = false, hint, error, children }: Given) {
  const id = useId();
  const about = error !== undefined || hint !== undefined ? `${id}-about` : undefined;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label htmlFor={id} className={hideLabel ? "sr-only" : "font-medium"}>
        {label}
      </label>
      {children({ id, "aria-describedby": about, "aria-invalid": error === undefined ? undefined : true })}
      {error !== undefined ? (
        <p id={about} role="alert" className="text-failed">
          <Sentence text={error} />
        </p>
      ) : (
        hint !== undefined && (
          <div id={about} className="text-ink-3">
            {hint}
          </div>
        )
      )}
    </div>
  );
}

type FieldProps = Around & InputHTMLAttributes<HTMLInputElement>;

export function Field({ label, hideLabel, hint, error, className, ...rest }: FieldProps) {
  return (
    <Labelled label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => <input {...rest} {...ids} className={cx(CONTROL, "h-8", className)} />}
    </Labelled>
  );
}

type AreaProps = Around & TextareaHTMLAttributes<HTMLTextAreaElement>;

export function TextArea({ label, hideLabel, hint, error, className, ...rest }: AreaProps) {
  return (
    <Labelled label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => <textarea rows={4} {...rest} {...ids} className={cx(CONTROL, className)} />}
    </Labelled>
  );
}

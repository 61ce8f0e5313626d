import type { SelectHTMLAttributes } from "react";

import { cx } from "~/lib/classes";

import { CONTROL, Labelled } from "./Field";

interface Option {
  value: string;
  label: string;
}

interface Props extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "onChange"> {
  label: string;
  hideLabel?: boolean;
  hint?: string;
  error?: string | undefined;
  options: readonly Option[];
  value: string;
  onChange: (value: string) => void;
}

export function Select({ label, hideLabel, hint, error, options, value, onChange, className, ...rest }: Props) {
  return (
    <Labelled label={label} hideLabel={hideLabel} hint={hint} error={error}>
      {(ids) => (
        <select
          {...rest}
          {...ids}
          value={value}
          onChange={(event) => {
            onChange(event.target.value);
          }}
          className={cx(CONTROL, "h-8 py-1 pr-7", className)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

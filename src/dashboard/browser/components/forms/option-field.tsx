import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { AccountOption } from '../../account-options.js';
import { SelectField, TextField } from './fields.js';

interface OptionFieldProps {
  label: string;
  help?: ComponentChildren;
  required?: boolean;
  options: readonly AccountOption[];
  value: string;
  onValue(value: string): void;
}

const BY_HAND = '\u0000';

/** A setting to pick from what the account has, or to enter by hand. */
export function OptionField({ label, help, required, options, value, onValue }: OptionFieldProps) {
  const isListed = value === '' || options.some((option) => option.value === value);
  const [isByHand, setByHand] = useState(false);
  if (isByHand)
    return <TextField label={label} help={help} required={required === true} value={value} onValue={onValue} />;
  return (
    <SelectField
      label={label}
      help={help}
      value={value}
      options={[
        ['', required ? 'Choose …' : 'None'],
        ...(isListed ? [] : [[value, `${value} (not in the list)`] as const]),
        ...options.map((option) => [option.value, titleOf(option)] as const),
        [BY_HAND, 'Enter by hand …'],
      ]}
      onValue={(chosen) => (chosen === BY_HAND ? setByHand(true) : onValue(chosen))}
    />
  );
}

function titleOf({ label, value }: AccountOption): string {
  return label === value ? label : `${label} (${value})`;
}

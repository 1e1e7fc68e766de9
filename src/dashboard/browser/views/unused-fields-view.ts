import type { Schemas } from '../api.js';

type UnusedField = Schemas['UnusedFields']['items'][number];

export interface UnusedFieldRow {
  readonly name: string;
  readonly isCode: boolean;
  readonly conversions: number;
  readonly advice: string;
}

/** A field can be both: a misspelling at one sender, and not valid at another. */
export function unusedFieldRows(items: readonly UnusedField[]): UnusedFieldRow[] {
  const rows = items.flatMap(({ field, dropped, unknown, use }): UnusedFieldRow[] => {
    const isCode = use !== undefined;
    return [
      ...(dropped > 0 ? [{ name: field, isCode: true, conversions: dropped, advice: NOT_VALID }] : []),
      ...(unknown > 0
        ? [
            {
              name: isCode ? field : 'Other names',
              isCode,
              conversions: unknown,
              advice: isCode ? `No field has this name: send ${use}` : OTHER_NAMES,
            },
          ]
        : []),
    ];
  });
  return rows.sort((one, other) => other.conversions - one.conversions);
}

const NOT_VALID = 'Not valid as sent: X-CC-Warning of the answer says why';
const OTHER_NAMES = 'No fields: X-CC-Warning of the answer names them. Values of your own belong into custom';

import { integerDigits } from '../../http/strict-json.js';
import { ELEMENTS_MAX, storable } from '../../kernel/expressions/evaluate.js';
import { valueAt } from '../../kernel/expressions/pointer.js';
import type { DeliveryValues } from './apply.js';
import type { ReadPointers } from './compile.js';

/** By JSON pointer: what was sent there, or a list of elements of the same form. */
export type StoredValues = Readonly<Record<string, unknown>>;

const TEXT_MAX = 1_000;
const STORED_MAX = 16_384;

export function sentValues(json: unknown, body: Buffer): DeliveryValues {
  return {
    at: ({ pointer }) => {
      const value = valueAt(json, pointer);
      // JSON.parse rounds ids beyond 2^53.
      return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
        ? (integerDigits(body, ...pointer) ?? value)
        : value;
    },
    within: (element, { pointer }) => valueAt(element, pointer),
  };
}

export function valuesStored(stored: StoredValues): DeliveryValues {
  const own = (object: unknown, name: string) => valueAt(object, [name]);
  return { at: ({ text }) => own(stored, text), within: (element, { text }) => own(element, text) };
}

/**
 * What is stored of a delivery, so that a changed mapping can be applied to it: what the rules read, except what is about the person or
 * the visit. `keep`: replaces texts that must not be stored as they are.
 */
export function valuesToStore(
  { values, lists }: ReadPointers,
  sent: DeliveryValues,
  keep: (text: string) => string,
): StoredValues {
  const stored: Record<string, unknown> = {};
  let size = 0;
  const add = (into: Record<string, unknown>, name: string, value: unknown) => {
    const kept = typeof value === 'string' ? keep(storable(value.slice(0, TEXT_MAX))) : value;
    if (kept === undefined || (typeof kept === 'object' && kept !== null)) return;
    size += name.length + String(kept).length;
    if (size <= STORED_MAX) into[name] = kept;
  };
  for (const [name, { term, kinds }] of values)
    if (kinds.has('plain') && !kinds.has('person')) add(stored, name, sent.at(term));
  for (const [name, { term, elements }] of lists) {
    const list = sent.at(term);
    if (!Array.isArray(list)) continue;
    stored[name] = list.slice(0, ELEMENTS_MAX).map((element) => {
      const kept: Record<string, unknown> = {};
      for (const each of elements) add(kept, each.text, sent.within(element, each));
      return kept;
    });
  }
  return stored;
}

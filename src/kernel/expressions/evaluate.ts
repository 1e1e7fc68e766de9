import type { Expression, PointerTerm, Term } from './expression.js';
import type { TransformArgument } from './transforms.js';

/** Of a list that an expression reads. */
export const ELEMENTS_MAX = 100;

/** The value of an expression. `at` finds the value of a term, `within` that of a pointer in an element of a list. */
export function evaluate(
  { alternatives, steps }: Expression,
  at: (term: Term) => unknown,
  within: (element: unknown, term: PointerTerm) => unknown,
): unknown {
  let value: unknown;
  for (const term of alternatives) {
    value = at(term);
    if (value !== undefined && value !== null && value !== '') break;
  }
  for (const { transform, text, term } of steps) {
    if (value === undefined || value === null || value === '') return undefined;
    const argument: TransformArgument = {
      text,
      value: () => term && at(term),
      each: (list) => list.slice(0, ELEMENTS_MAX).map((element) => within(element, term as PointerTerm)),
    };
    value = transform.apply(value, argument);
  }
  return typeof value === 'string' ? storable(value) : value;
}

/** With the u flag a surrogate pair is one character, so that only unpaired surrogates match. */
const UNSTORABLE = /\0|\p{Surrogate}/u;

/** PostgreSQL cannot store what the sender may: a webhook that is refused for it would be repeated in vain. */
export function storable(text: string): string {
  return UNSTORABLE.test(text) ? text.replace(new RegExp(UNSTORABLE, 'gu'), '') : text;
}

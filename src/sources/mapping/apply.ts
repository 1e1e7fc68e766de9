import type { CompiledTopic, Rule } from './compile.js';
import type { Expression, PointerTerm, Term } from './expression.js';
import type { TransformArgument } from './transforms.js';

export const ELEMENTS_MAX = 100;

/** Finds values in a delivery, or in what was stored of one. */
export interface DeliveryValues {
  at(term: PointerTerm): unknown;
  /** In an element of a list. */
  within(element: unknown, term: PointerTerm): unknown;
}

export type Mapped =
  /** The body of a conversion, as a sender would post it. */
  | { readonly body: Readonly<Record<string, unknown>>; readonly isCorrection: boolean }
  /** The topic's condition is not fulfilled. */
  | { readonly ignored: 'condition' };

/** Takes time in proportion to the rules, and to the lists that they name. */
export function applyMapping(topic: CompiledTopic, values: DeliveryValues): Mapped {
  const { condition, isCorrection } = topic;
  if (condition && !condition.values.includes(String(values.at(condition.term)))) return { ignored: 'condition' };
  return { body: bodyOf(topic.rules, topic, values), isCorrection };
}

/** What it says about the person, whether it is a conversion or not. */
export function mappedPerson(topic: CompiledTopic, values: DeliveryValues): Readonly<Record<string, unknown>> {
  const isPerson = ({ kind, field }: Rule) => kind === 'person' || field === 'country' || field.startsWith('hashed_');
  return bodyOf(topic.rules.filter(isPerson), undefined, values);
}

function bodyOf(
  rules: readonly Rule[],
  topic: CompiledTopic | undefined,
  values: DeliveryValues,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  const at = (term: Term) => ('literal' in term ? term.literal : values.at(term));
  const within = (element: unknown, term: PointerTerm) => values.within(element, term);
  for (const { field, expression } of rules) setPart(body, field, evaluate(expression, at, within));
  const items = topic?.items;
  const list = items && evaluate(items.list, at, within);
  if (items && Array.isArray(list))
    body['items'] = list.slice(0, ELEMENTS_MAX).map((element) => {
      const item: Record<string, unknown> = {};
      const inElement = (term: Term) => ('literal' in term ? term.literal : values.within(element, term));
      for (const { field, expression } of items.parts) setPart(item, field, evaluate(expression, inElement, within));
      return item;
    });
  return body;
}

function evaluate(
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

function setPart(body: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined || value === null || value === '') return;
  const dot = field.indexOf('.');
  if (dot < 0) body[field] = value;
  else {
    const parent = field.slice(0, dot);
    body[parent] = { ...(body[parent] as object | undefined), [field.slice(dot + 1)]: value };
  }
}

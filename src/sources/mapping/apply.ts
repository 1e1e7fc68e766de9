import { ELEMENTS_MAX, evaluate } from '../../kernel/expressions/evaluate.js';
import type { PointerTerm, Term } from '../../kernel/expressions/expression.js';
import type { CompiledTopic, Rule } from './compile.js';

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

function setPart(body: Record<string, unknown>, field: string, value: unknown): void {
  if (value === undefined || value === null || value === '') return;
  const dot = field.indexOf('.');
  if (dot < 0) body[field] = value;
  else {
    const parent = field.slice(0, dot);
    body[parent] = { ...(body[parent] as object | undefined), [field.slice(dot + 1)]: value };
  }
}

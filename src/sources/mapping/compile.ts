import {
  type Condition,
  type Expression,
  MappingError,
  type PointerTerm,
  parseCondition,
  parseExpression,
} from '../../kernel/expressions/expression.js';
import { type FieldKind, ITEM_PARTS, kindOf } from './fields.js';
import { CORRECTION, ITEMS, type Mapping, type TopicMapping, WHEN } from './mapping.js';

const TOPICS_MAX = 50;
const RULES_MAX = 60;
const TOPIC_MAX = 200;

export interface Rule {
  readonly field: string;
  readonly kind: FieldKind;
  readonly expression: Expression;
}

/** The list of the items, and what is read of each. */
export interface ItemsRule {
  readonly list: Expression;
  readonly parts: readonly Rule[];
}

/** The rules of a topic, ready to be applied. */
export interface CompiledTopic {
  readonly condition: Condition | undefined;
  readonly isCorrection: boolean;
  readonly rules: readonly Rule[];
  readonly items: ItemsRule | undefined;
}

export type CompiledMapping = ReadonlyMap<string, CompiledTopic>;

/** Throws `MappingError`, which names topic and field. */
export function compileMapping(mapping: Mapping): CompiledMapping {
  const topics = Object.entries(mapping);
  if (topics.length > TOPICS_MAX) throw new MappingError(`The mapping has more than ${TOPICS_MAX} topics`);
  return new Map(topics.map(([topic, rules]) => [topic, compileTopic(topic, rules)]));
}

function compileTopic(topic: string, rules: TopicMapping): CompiledTopic {
  if (topic === '' || topic.length > TOPIC_MAX) throw new MappingError(`A topic has 1 to ${TOPIC_MAX} characters`);
  const entries = Object.entries(rules);
  if (entries.length > RULES_MAX) throw new MappingError(`${topic} has more than ${RULES_MAX} rules`);
  const named = <Result>(field: string, parse: () => Result): Result => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      throw new MappingError(`${topic}:${field} ${error.message}`);
    }
  };
  let condition: Condition | undefined;
  let isCorrection = false;
  let list: Expression | undefined;
  const parts: Rule[] = [];
  const compiled: Rule[] = [];
  for (const [field, text] of entries) {
    if (field === WHEN) condition = named(field, () => parseCondition(text));
    else if (field === CORRECTION) isCorrection = named(field, () => isTrue(text));
    else if (field === ITEMS) list = named(field, () => parseExpression(text));
    else if (field.startsWith(`${ITEMS}.`)) {
      const part = field.slice(ITEMS.length + 1);
      if (!ITEM_PARTS.includes(part)) throw new MappingError(`${topic}:${field} An item has ${ITEM_PARTS.join(', ')}`);
      parts.push({ field: part, kind: 'plain', expression: named(field, () => parseExpression(text)) });
    } else {
      const kind = kindOf(field);
      if (kind === undefined) throw new MappingError(`${topic}:${field} is no field of a conversion`);
      compiled.push({ field, kind, expression: named(field, () => parseExpression(text)) });
    }
  }
  return { condition, isCorrection, rules: compiled, items: list && { list, parts } };
}

function isTrue(text: string): boolean {
  if (text !== "'true'") throw new MappingError("is 'true' or left out");
  return true;
}

/** What a topic reads: each pointer with the kinds of what it is used for, and those of lists with what is read of their elements. */
export interface ReadPointers {
  readonly values: ReadonlyMap<string, { readonly term: PointerTerm; readonly kinds: ReadonlySet<FieldKind> }>;
  readonly lists: ReadonlyMap<string, { readonly term: PointerTerm; readonly elements: readonly PointerTerm[] }>;
}

export function readPointers(topics: readonly CompiledTopic[]): ReadPointers {
  const values = new Map<string, { term: PointerTerm; kinds: Set<FieldKind> }>();
  const lists = new Map<string, { term: PointerTerm; elements: PointerTerm[] }>();
  const addValue = (term: PointerTerm, kind: FieldKind) => {
    const known = values.get(term.text);
    if (known) known.kinds.add(kind);
    else values.set(term.text, { term, kinds: new Set([kind]) });
  };
  const addList = (term: PointerTerm, elements: readonly PointerTerm[]) => {
    const known = lists.get(term.text);
    if (known) known.elements.push(...elements);
    else lists.set(term.text, { term, elements: [...elements] });
  };
  for (const { condition, rules, items } of topics) {
    if (condition) addValue(condition.term, 'plain');
    for (const { expression, kind } of rules) {
      const sum = expression.steps.find(({ transform }) => transform.takes === 'pointer')?.term as
        | PointerTerm
        | undefined;
      for (const term of pointersOf(expression.alternatives)) sum ? addList(term, [sum]) : addValue(term, kind);
      for (const { transform, term } of expression.steps)
        if (transform.takes === 'value' && term && 'pointer' in term) addValue(term, kind);
    }
    if (!items) continue;
    const elements = items.parts.flatMap(({ expression }) =>
      pointersOf([...expression.alternatives, ...expression.steps.flatMap(({ term }) => term ?? [])]),
    );
    for (const term of pointersOf(items.list.alternatives)) addList(term, elements);
  }
  return { values, lists };
}

function pointersOf(terms: readonly (PointerTerm | { readonly literal: string })[]): PointerTerm[] {
  return terms.flatMap((term) => ('pointer' in term ? [term] : []));
}

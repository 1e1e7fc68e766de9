import { type Pointer, parsePointer } from './pointer.js';
import { TRANSFORMS, type Transform } from './transforms.js';

const EXPRESSION_MAX = 500;
const ALTERNATIVES_MAX = 8;
const TRANSFORMS_MAX = 4;

export interface PointerTerm {
  readonly pointer: Pointer;
  readonly text: string;
}

export type Term = PointerTerm | { readonly literal: string };

export interface Step {
  readonly transform: Transform;
  readonly text: string;
  readonly term: Term | undefined;
}

/** `/a ?? /b | minor_units /currency`: the first value that was sent, then what is done with it. */
export interface Expression {
  readonly alternatives: readonly Term[];
  readonly steps: readonly Step[];
}

export class MappingError extends Error {
  override readonly name = 'MappingError';
}

export function parseExpression(text: string): Expression {
  if (text.length > EXPRESSION_MAX) throw new MappingError(`is longer than ${EXPRESSION_MAX} characters`);
  const [source = '', ...steps] = text.split(' | ');
  const alternatives = source.split(' ?? ').map((part) => parseTerm(part.trim()));
  if (alternatives.length > ALTERNATIVES_MAX) throw new MappingError(`has more than ${ALTERNATIVES_MAX} alternatives`);
  if (steps.length > TRANSFORMS_MAX) throw new MappingError(`has more than ${TRANSFORMS_MAX} transforms`);
  return { alternatives, steps: steps.map((step) => parseStep(step.trim())) };
}

function parseTerm(text: string): Term {
  const literal = /^'(.*)'$/s.exec(text)?.[1];
  if (literal !== undefined) return { literal };
  const pointer = parsePointer(text);
  if (!pointer)
    throw new MappingError(
      `"${shortened(text)}" is neither a JSON pointer such as /order/id nor a text in quotes such as 'purchase'`,
    );
  return { pointer, text };
}

function parseStep(text: string): Step {
  const [, name = '', argument = ''] = /^(\w*)\s*(.*)$/s.exec(text) ?? [];
  const transform = Object.hasOwn(TRANSFORMS, name) ? TRANSFORMS[name] : undefined;
  if (!transform)
    throw new MappingError(`"${shortened(name)}" is no transform. There are ${Object.keys(TRANSFORMS).join(', ')}`);
  const { takes } = transform;
  if ((takes === 'nothing') !== (argument === ''))
    throw new MappingError(takes === 'nothing' ? `${name} takes no argument` : `${name} takes an argument`);
  const term = takes === 'value' || takes === 'pointer' ? parseTerm(argument) : undefined;
  if (takes === 'pointer' && term && 'literal' in term) throw new MappingError(`${name} takes a JSON pointer`);
  return { transform, text: argument, term };
}

/** `/status = paid, completed`. */
export interface Condition {
  readonly term: PointerTerm;
  readonly values: readonly string[];
}

export function parseCondition(text: string): Condition {
  const at = text.indexOf(' = ');
  const term = at < 0 || text.length > EXPRESSION_MAX ? undefined : parseTerm(text.slice(0, at).trim());
  if (!term || 'literal' in term)
    throw new MappingError('takes a JSON pointer and values, such as /status = paid, completed');
  return {
    term,
    values: text
      .slice(at + 3)
      .split(',')
      .map((value) => value.trim()),
  };
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

import { ELEMENTS_MAX, evaluate } from '../../kernel/expressions/evaluate.js';
import { type Expression, MappingError, parseExpression, type Term } from '../../kernel/expressions/expression.js';
import { valueAt } from '../../kernel/expressions/pointer.js';
import type { Template } from './definition-schema.js';

const NODES_MAX = 400;
const DEPTH_MAX = 12;

/** Where in a definition something is wrong. */
export type Path = readonly (string | number)[];

/** Collects what is wrong, so that all of it is reported at once. */
export type Report = (path: Path, problem: string) => void;

/** Whether expressions can read a pointer; undefined: yes, otherwise what is wrong. */
export type CheckPointer = (pointer: readonly string[]) => string | undefined;

/** Undefined where there is nothing to send. */
export type Render = (values: unknown) => unknown;

const NOTHING: Render = () => undefined;
/** Fields of an object that all fields of a value become. */
const MERGE = '$merge';
/** An object that is sent also when it is empty. */
const KEEP = '$keep';
/** A list with an element for each of another. */
const EACH = '$each';
const OF = '$of';

export interface TemplateContext {
  readonly report: Report;
  readonly check: CheckPointer;
  /** Of an element of the list that is read. */
  readonly checkElement: (list: string, pointer: readonly string[]) => string | undefined;
}

/** Compiles a template. The work of a rendering is bounded by its size, and by the lists that it reads. */
export function compileTemplate(template: Template, path: Path, context: TemplateContext): Render {
  let nodes = 0;
  const compile = (node: Template, at: Path, check: CheckPointer): Render => {
    nodes += 1;
    if (nodes > NODES_MAX || at.length - path.length > DEPTH_MAX) {
      if (nodes <= NODES_MAX + 1) context.report(at, 'is too large: at most 400 values, 12 deep');
      return NOTHING;
    }
    if (typeof node === 'string') return compileExpression(node, at, { ...context, check });
    if (typeof node !== 'object') return () => node;
    if (Array.isArray(node)) {
      const elements = (node as readonly Template[]).map((each, index) => compile(each, [...at, index], check));
      return (values) => filled(elements.map((render) => render(values)).filter((value) => value !== undefined));
    }
    const fields = node as Readonly<Record<string, Template>>;
    if (fields[EACH] !== undefined || fields[OF] !== undefined) return compileEach(fields, at, check);
    return compileObject(fields, at, check);
  };

  const compileEach = (fields: Readonly<Record<string, Template>>, at: Path, check: CheckPointer): Render => {
    const { [EACH]: list, [OF]: element, ...others } = fields;
    if (typeof list !== 'string' || element === undefined || Object.keys(others).length > 0) {
      context.report(at, '$each takes the pointer of a list, beside $of, a template for its elements');
      return NOTHING;
    }
    const elements = compileExpression(list, [...at, EACH], { ...context, check });
    const render = compile(element, [...at, OF], (pointer) => context.checkElement(list, pointer));
    return (values) => {
      const found = elements(values);
      if (!Array.isArray(found)) return undefined;
      return filled(found.slice(0, ELEMENTS_MAX).flatMap((each) => render(each) ?? []));
    };
  };

  const compileObject = (fields: Readonly<Record<string, Template>>, at: Path, check: CheckPointer): Render => {
    const { [MERGE]: merged, [KEEP]: keep, ...own } = fields;
    if (keep !== undefined && keep !== true) context.report([...at, KEEP], 'must be true');
    if (merged !== undefined && typeof merged !== 'string') context.report([...at, MERGE], 'must be a pointer');
    const merge =
      typeof merged === 'string' ? compileExpression(merged, [...at, MERGE], { ...context, check }) : NOTHING;
    const compiled = Object.entries(own).map(([field, each]) => [field, compile(each, [...at, field], check)] as const);
    return (values) => {
      const object: Record<string, unknown> = { ...(merge(values) as object | undefined) };
      for (const [field, render] of compiled) {
        const value = render(values);
        if (value !== undefined) object[field] = value;
      }
      return keep === true ? object : filled(object);
    };
  };

  return compile(template, path, context.check);
}

/** A single expression, such as the place of an error message. */
export function compileExpression(
  text: string,
  path: Path,
  { report, check }: Pick<TemplateContext, 'report' | 'check'>,
): Render {
  let expression: Expression;
  try {
    expression = parseExpression(text);
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    report(path, `${error.message}; in YAML a text needs both quotes: "'purchase'"`);
    return NOTHING;
  }
  // The argument of `sum` is in the elements of a list.
  const steps = expression.steps.filter(({ transform }) => transform.takes !== 'pointer');
  const terms = [...expression.alternatives, ...steps.flatMap(({ term }) => term ?? [])];
  for (const term of terms) {
    const problem = 'pointer' in term ? check(term.pointer) : undefined;
    if (problem !== undefined) report(path, problem);
  }
  return (values) => {
    const at = (term: Term) => ('literal' in term ? term.literal : valueAt(values, term.pointer));
    const value = evaluate(expression, at, (element, { pointer }) => valueAt(element, pointer));
    return value === null || value === '' ? undefined : value;
  };
}

function filled<Value extends object>(value: Value): Value | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}

import { type Check, countryHashes, list } from './checks.js';
import { isObject, type JsonObject, listIn, objectOf } from './values.js';

/** Checks the fields of an object and collects the problems, each as `<path of the field> <problem>`. */
export class FieldChecks {
  constructor(
    readonly value: JsonObject,
    readonly problems: string[] = [],
    private readonly path = '',
  ) {}

  required(name: string, check: Check): void {
    this.add(name, check(this.value[name]));
  }

  optional(name: string, check: Check): void {
    if (this.has(name)) this.required(name, check);
  }

  allOptional(names: readonly string[], check: Check): void {
    for (const name of names) this.optional(name, check);
  }

  /** Adds a problem that another check found. */
  add(name: string, problem: string | undefined): void {
    if (problem !== undefined) this.problems.push(`${this.pathOf(name)} ${problem}`);
  }

  /** Adds a problem of the object itself. */
  addOwn(problem: string): void {
    this.problems.push(`${this.path} ${problem}`);
  }

  /** For platforms that refuse unknown fields. */
  known(names: ReadonlySet<string>): void {
    for (const name of Object.keys(this.value)) if (!names.has(name)) this.add(name, 'is not a known property');
  }

  obsolete(names: readonly string[]): void {
    for (const name of names) if (this.has(name)) this.add(name, 'is a field of an obsolete API version');
  }

  /** The checks of the object in a field. An absent one is treated as empty; undefined when the value is a problem. */
  object(name: string, presence: 'required' | 'optional' | 'nullable' = 'optional'): FieldChecks | undefined {
    const value = this.value[name];
    if (isObject(value)) return this.child(value, name);
    const isAbsent = value === undefined || (value === null && presence === 'nullable');
    if (isAbsent && presence !== 'required') return this.child({}, name);
    this.add(name, value === undefined ? 'is missing' : 'is not an object');
    return undefined;
  }

  /** Calls `check` with each element of an optional list; an element that is not an object is treated as an empty one. */
  each(name: string, check: (element: FieldChecks, isAnObject: boolean) => void): void {
    this.optional(name, list);
    for (const [index, element] of listIn(this.value, name).entries()) {
      check(this.child(objectOf(element), `${name}.${index}`), isObject(element));
    }
  }

  has(...names: readonly string[]): boolean {
    return names.some((name) => this.value[name] !== undefined);
  }

  private child(value: JsonObject, name: string): FieldChecks {
    return new FieldChecks(value, this.problems, this.pathOf(name));
  }

  private pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

/** The problems of one item of a batch; `itemName` is the platform's name of an item. */
export function problemsOf(itemName: string, item: unknown, check: (fields: FieldChecks) => void): readonly string[] {
  if (!isObject(item)) return [`${itemName} is not an object`];
  const fields = new FieldChecks(item);
  check(fields);
  return fields.problems;
}

/** One item of a batch with everything that is wrong with it. */
export interface CheckedItem {
  readonly item: unknown;
  /** Each of them makes the platform refuse the item. */
  readonly problems: readonly string[];
  /** Mistakes that the platform silently accepts. */
  readonly warnings: readonly string[];
}

/** The warning about an item without the id that the platform deduplicates by. */
export function missingIdWarning(field: string, item: unknown, id: unknown): readonly string[] {
  return isObject(item) && id === undefined ? [`${field} is missing: duplicates cannot be detected`] : [];
}

/** The warning about a hashed `user_data.country` that matches no country. */
export function countryWarning(item: unknown): readonly string[] {
  const { country } = objectOf(objectOf(item)['user_data']);
  const problem = country === undefined ? undefined : countryHashes(country);
  return problem === undefined ? [] : [`user_data.country ${problem}`];
}

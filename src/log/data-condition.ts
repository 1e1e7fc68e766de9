/** Any of these data fields, each named by its path, has one of these texts. */
export interface DataCondition {
  readonly anyOf: readonly (readonly string[])[];
  readonly is: readonly string[];
}

/** Whether data meets all conditions, as the database decides it. */
export function meets(data: object, where: readonly DataCondition[]): boolean {
  return where.every(({ anyOf, is }) => anyOf.some((path) => is.includes(textAt(data, path) as string)));
}

function textAt(data: object, path: readonly string[]): string | null {
  const parent = path.slice(0, -1).reduce<unknown>((at, name) => (at as Fields | undefined)?.[name], data);
  return typeof parent === 'object' && parent !== null ? fieldText(parent, path.at(-1) as string) : null;
}

type Fields = Readonly<Record<string, unknown>>;

/** As the operator `->>` returns it. */
export function fieldText(data: object, field: string): string | null {
  const value = (data as Fields)[field];
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

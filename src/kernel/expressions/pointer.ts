/** The keys of a JSON pointer (RFC 6901). */
export type Pointer = readonly string[];

/** Undefined if the text is no pointer. */
export function parsePointer(text: string): Pointer | undefined {
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Only own properties: a key such as `constructor` finds nothing that was not sent. */
export function valueAt(value: unknown, pointer: Pointer): unknown {
  let found = value;
  for (const key of pointer) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}

/** Stands for a value that the reader may not see. */
export const MASK = '•••';

/** A time of day identifies neither a person nor a browser. */
const TIME = /^\d{4}-\d{2}-\d{2}[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?$/;

/**
 * The document without personal values: a text is shown only if the public document has it too. Platforms hash, join and rename
 * what they get, so personal values cannot be recognised, but public ones can.
 */
export function maskValues(document: unknown, publicDocument: unknown): unknown {
  const known = new Set<string>();
  addTexts(publicDocument, known);
  return mask(document, known);
}

function mask(value: unknown, known: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return known.has(value) || TIME.test(value) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => mask(item, known));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mask(item, known)]));
}

function addTexts(value: unknown, texts: Set<string>): void {
  if (typeof value === 'string') texts.add(value);
  else if (value !== null && typeof value === 'object') for (const item of Object.values(value)) addTexts(item, texts);
}

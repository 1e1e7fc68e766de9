import { SiteCopyRefused } from './site-copy-errors.js';

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};
const NAMES = new Map(Object.entries(ESCAPES).map(([name, character]) => [character, name]));
const NULL = '\\N';

/**
 * Rows in the text format of COPY, from another process. Accepts only what PostgreSQL itself writes: it reads more than that (a
 * line "\.", other line ends, escapes by number), and must not see other rows than those that were checked.
 */
export function parseCopyText(
  text: Buffer,
  columns: number,
  limits: { readonly bytes: number; readonly rows: number },
): (string | null)[][] {
  const rows: (string | null)[][] = [];
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(0x0a, from);
    if (end === -1) throw new SiteCopyRefused('the last row is incomplete');
    if (end - from > limits.bytes) throw new SiteCopyRefused(`a row has more than ${limits.bytes} bytes`);
    if (rows.length === limits.rows) throw new SiteCopyRefused(`there are more than ${limits.rows} rows`);
    const fields = decoded(text.subarray(from, end)).split('\t');
    if (fields.length !== columns)
      throw new SiteCopyRefused(`a row has ${fields.length} columns instead of ${columns}`);
    rows.push(fields.map(unescaped));
    from = end + 1;
  }
  return rows;
}

/** A line of the same format. */
export function copyLine(fields: readonly (string | number | boolean | null)[]): string {
  return `${fields.map((field) => (field === null ? NULL : escaped(String(field)))).join('\t')}\n`;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new SiteCopyRefused('a row is not in UTF-8');
  }
}

function unescaped(field: string): string | null {
  if (field === NULL) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000\b\f\r\v]/.test(field)) throw new SiteCopyRefused('a row has a character that COPY would escape');
  if (!field.includes('\\')) return field;
  return field.replace(/\\(.?)/gsu, (_, name: string) => {
    const character = ESCAPES[name];
    if (character === undefined) throw new SiteCopyRefused('a row has an unknown escape');
    return character;
  });
}

function escaped(text: string): string {
  return /[\b\f\n\r\t\v\\]/.test(text)
    ? text.replace(/[\b\f\n\r\t\v\\]/g, (character) => `\\${NAMES.get(character)}`)
    : text;
}

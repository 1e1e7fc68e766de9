import { type Colour, type Layout, PLAIN, paint } from './layout.js';

export type Columns<Row> = Readonly<Record<string, (row: Row) => unknown>>;

const GAP = '  ';
/** In columns of this name; other words have no colour. */
const STATE_COLUMN = /^(STATE|STATUS)$/;
const STATE_COLOURS: Readonly<Record<string, Colour>> = {
  active: 'green',
  running: 'green',
  paused: 'yellow',
  rebuilding: 'yellow',
  expired: 'yellow',
  parked: 'red',
  failed: 'red',
  revoked: 'red',
};

/**
 * Within the width of the layout, cells wrap between words. Nothing is cut, because ids are copied from tables: where wrapping does
 * not suffice, each row becomes a card.
 */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>, layout: Layout = PLAIN): string {
  const names = Object.keys(columns);
  const cells = rows.map((row) => Object.values(columns).map((cell) => readable(cell(row))));
  const widths = widthsWithin([names, ...cells], layout.width);
  if (!widths) return cells.map((row) => card(Object.fromEntries(names.map((name, at) => [name, row[at]])))).join('\n');
  const header = rowLines(names, widths, (text) => paint(layout, 'bold', text));
  const body = cells.map((row) => {
    return rowLines(row, widths, (text, at) => {
      const colour = STATE_COLUMN.test(names[at] as string) ? STATE_COLOURS[text] : undefined;
      return colour ? paint(layout, colour, text) : text;
    });
  });
  return [header, ...body].join('');
}

/** One line per property. */
export function card(properties: Readonly<Record<string, unknown>>): string {
  const width = longest(Object.keys(properties));
  return Object.entries(properties)
    .map(([name, value]) => `${name.padEnd(width)}${GAP}${readable(value)}\n`)
    .join('');
}

/** The width of each column; undefined if they cannot be narrow enough. */
function widthsWithin(lines: readonly (readonly string[])[], limit: number | undefined): number[] | undefined {
  const columns = (lines[0] ?? []).map((_, at) => lines.map((line) => line[at] as string));
  const widths = columns.map(longest);
  if (limit === undefined) return widths;
  const least = columns.map((cells) => longest(cells.flatMap((cell) => cell.split(' '))));
  let excess = sum(widths) + GAP.length * (widths.length - 1) - limit;
  for (; excess > 0; excess -= 1) {
    const shrinkable = widths.map((width, at) => (width > (least[at] as number) ? width : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) return undefined;
    widths[shrinkable.indexOf(widest)] = widest - 1;
  }
  return widths;
}

/** A row is as many lines as its highest cell. */
function rowLines(
  cells: readonly string[],
  widths: readonly number[],
  painted: (text: string, at: number) => string,
): string {
  const wrapped = cells.map((cell, at) => wrap(cell, widths[at] as number));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) => {
    const texts = wrapped.map((lines) => lines[line] ?? '');
    const last = texts.findLastIndex((text) => text !== '');
    const padded = texts
      .slice(0, last + 1)
      .map((text, at) => painted(text, at) + (at < last ? ' '.repeat((widths[at] as number) - text.length) : ''));
    return `${padded.join(GAP)}\n`;
  }).join('');
}

/** Less room than this is left to the terminal to wrap. */
const LEAST_ROOM = 20;

/**
 * Text that starts after `used` columns, and whose later lines start after `indent`: within the width of the layout it wraps
 * between words.
 */
export function wrapped(text: string, { width }: Layout, indent: number, used = indent): string {
  if (width === undefined || width - Math.max(indent, used) < LEAST_ROOM) return text;
  const lines = wrap(text, width - indent, width - used);
  return lines.map((line) => line.trimEnd()).join(`\n${' '.repeat(indent)}`);
}

function wrap(text: string, width: number, firstWidth = width): string[] {
  if (text.length <= firstWidth) return [text];
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line === '') lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= (lines.length === 1 ? firstWidth : width))
      lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Not by spreading: a table may have more rows than a call takes arguments. */
function longest(texts: readonly string[]): number {
  return texts.reduce((width, text) => Math.max(width, text.length), 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function readable(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? '-' : printable(value.join(', '));
  return printable(String(value));
}

/** Escapes control and formatting characters: order ids and names are untrusted and must not control the terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
  });
}

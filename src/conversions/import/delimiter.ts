import { escapeFormula } from '../../kernel/formulas.js';

const DELIMITERS = [',', ';', '\t', '|'] as const;

export type Delimiter = (typeof DELIMITERS)[number];

/** The delimiter that occurs most often in the header outside of quotes; a comma if there is none. */
export function detectDelimiter(header: string): Delimiter {
  const counts = new Map<string, number>();
  let isQuoted = false;
  for (const character of header) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  let [found, most]: [Delimiter, number] = [',', 0];
  for (const delimiter of DELIMITERS) {
    const count = counts.get(delimiter) ?? 0;
    if (count > most) [found, most] = [delimiter, count];
  }
  return found;
}

/** The delimiter that Excel's first line `sep=;` states; undefined if the line is not one. */
export function statedDelimiter(line: string): Delimiter | undefined {
  const stated = /^"?sep=(.)"?$/i.exec(line)?.[1];
  return DELIMITERS.find((delimiter) => delimiter === stated);
}

/** A record of a CSV file, without a line end. */
export function formatRecord(cells: readonly string[], delimiter: Delimiter): string {
  return cells
    .map(escapeFormula)
    .map((cell) =>
      cell.includes(delimiter) || /["\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell,
    )
    .join(delimiter);
}

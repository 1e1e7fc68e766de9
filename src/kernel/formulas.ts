/**
 * A spreadsheet runs a cell that begins with one of these as a formula, and text comes from senders and platforms. Apostrophes
 * before them count, so that the text can be read back.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;

/** The text of a cell in a CSV file, such that a spreadsheet shows it. */
export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** The text that was escaped. */
export function unescapeFormula(cell: string): string {
  return cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell;
}

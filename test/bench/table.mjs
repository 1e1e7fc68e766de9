// Formats the report as a table for a terminal or as Markdown. No I/O.

const COLUMNS = [
  { title: 'what', cell: (row) => row.what, left: true },
  { title: 'figure', cell: figure },
  { title: 'min–max', cell: (row) => (row.value?.min === undefined ? '' : range(row.value, row.unit)) },
  { title: 'per s', cell: (row) => (row.rate === undefined ? '' : whole(row.rate)) },
  { title: 'CPU µs', cell: cpu },
  { title: 'sandbox µs', cell: (row) => row.cpuSandbox?.toFixed(0) ?? '', optional: true },
  { title: 'p50 ms', cell: (row) => (row.p50 === undefined ? '' : row.p50.toFixed(1)) },
  { title: 'p99 ms', cell: (row) => (row.p99 === undefined ? '' : row.p99.toFixed(1)) },
  { title: 'errors', cell: (row) => (row.errors === undefined ? '' : whole(row.errors)) },
  { title: 'target', cell: (row) => (row.target ? targetText(row) : '') },
  { title: 'met', cell: (row) => (row.target ? verdict(row.met) : '') },
];

/** @param report `{ title, facts: string[], rows, notes: string[] }` */
export function textReport(report) {
  const columns = columnsOf(report.rows);
  const cells = [columns.map((column) => column.title), ...report.rows.map((row) => rowCells(row, columns))];
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const lines = cells.map((row) =>
    row
      .map((cell, column) => (columns[column].left ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
  const rule = '-'.repeat(widths.reduce((sum, width) => sum + width + 2, -2));
  const notes = report.notes.map((note) => `! ${note}`);
  return [report.title, ...report.facts.map((fact) => `  ${fact}`), '', lines[0], rule, ...lines.slice(1), '', ...notes]
    .join('\n')
    .trimEnd();
}

export function markdownReport(report) {
  const columns = columnsOf(report.rows);
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    `### ${report.title}`,
    '',
    ...report.facts.map((fact) => `- ${fact}`),
    '',
    line(columns.map((column) => column.title)),
    line(columns.map((column) => (column.left ? '---' : '---:'))),
    ...report.rows.map((row) => line(rowCells(row, columns))),
    ...(report.notes.length > 0 ? ['', ...report.notes.map((note) => `- **${note}**`)] : []),
  ].join('\n');
}

/** An optional column is included when a row has a value for it. */
function columnsOf(rows) {
  return COLUMNS.filter((column) => !column.optional || rows.some((row) => column.cell(row) !== ''));
}

function rowCells(row, columns) {
  return columns.map((column) => column.cell(row));
}

function figure(row) {
  if (row.figure) return row.figure;
  if (row.value) return amount(row.value.median, row.unit);
  return row.rate === undefined ? 'FAILED' : '';
}

function cpu(row) {
  if (row.cpuServer === undefined && row.cpuPostgres === undefined) return '';
  const parts = [row.cpuServer, row.cpuPostgres].map((part) => (part === undefined ? '–' : part.toFixed(0)));
  return parts.join(' + ');
}

function targetText({ target, unit }) {
  return target.atLeast === undefined ? `≤ ${amount(target.atMost, unit)}` : `≥ ${amount(target.atLeast, unit)}`;
}

function verdict(met) {
  if (met === undefined) return '?';
  return met ? '✓' : '✗';
}

function range({ min, max }, unit) {
  return `${amount(min, unit, false)}–${amount(max, unit, false)}`;
}

function amount(value, unit, withUnit = true) {
  if (unit === 'count') return whole(value);
  const text = Math.abs(value) < 10 ? value.toFixed(2) : value.toFixed(1);
  return withUnit && unit !== 'ratio' ? `${text} ${unit}` : text;
}

function whole(value) {
  return Math.round(value).toLocaleString('en-US');
}

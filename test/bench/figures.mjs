// Medians, ratios and target checks of the samples. No I/O.

export function percentile(sorted, p) {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median, minimum and maximum; undefined without a measurement. */
export function spread(values) {
  const measured = values.filter((value) => value !== undefined && Number.isFinite(value));
  if (measured.length === 0) return undefined;
  return { median: median(measured), min: Math.min(...measured), max: Math.max(...measured) };
}

/**
 * Per round, because the measurements of a round are close in time and other load on the machine affects them alike.
 * A round in which either failed is skipped.
 */
export function ratios(samples, others, value) {
  return samples.flatMap((sample, round) => {
    const other = others[round];
    if (!sample || !other) return [];
    const ratio = value(sample) / value(other);
    return Number.isFinite(ratio) ? [ratio] : [];
  });
}

export function meets(value, target) {
  if (!target || value === undefined) return undefined;
  return target.atLeast === undefined ? value <= target.atMost : value >= target.atLeast;
}

/** The table columns of one variant. */
export function variantColumns(samples) {
  const measured = samples.filter(Boolean);
  const mid = (value) => spread(measured.map(value))?.median;
  return {
    rate: mid((sample) => sample.rate),
    cpuServer: mid((sample) => sample.cpuServer),
    cpuPostgres: mid((sample) => sample.cpuPostgres),
    cpuSandbox: mid((sample) => sample.cpuSandbox),
    p50: mid((sample) => sample.p50),
    p99: mid((sample) => sample.p99),
    errors: measured.length === 0 ? undefined : measured.reduce((sum, sample) => sum + sample.errors, 0),
  };
}

/** In place of a figure that this machine cannot provide, such as CPU and memory without /proc. Not a failure. */
export const SKIPPED = 'skipped';

const cpuOf = (sample) => (sample.cpuServer ?? Number.NaN) + (sample.cpuPostgres ?? 0);
const VALUES = { rate: ({ rate }) => rate, p99: ({ p99 }) => p99, cpu: cpuOf };

/** A row that compares one variant with another. `by` is 'rate', 'p99' or 'cpu'. */
export function ratioRow(what, samples, others, { by = 'rate', target, columns = {} } = {}) {
  const value = spread(ratios(samples, others, VALUES[by]));
  const row = { what, unit: 'ratio', value, target, met: meets(value?.median, target), ...columns };
  return value || by !== 'cpu' || !samples.some(Boolean) ? row : { ...row, figure: SKIPPED };
}

/** The CPU that each of `count` additions costs on top of `base`, as a ratio to `unit`, per round. */
export function addedCpuRow(what, { samples, base, unit, count, target }) {
  const added = samples.flatMap((sample, round) =>
    sample && base[round] && unit[round] ? [(cpuOf(sample) - cpuOf(base[round])) / count / cpuOf(unit[round])] : [],
  );
  const value = spread(added);
  const row = { what, unit: 'ratio', value, target, met: meets(value?.median, target) };
  return value || added.length === 0 ? row : { ...row, figure: SKIPPED };
}

/** A row for a single measurement. */
export function singleRow(what, value, unit, target) {
  const all = value === undefined ? undefined : { median: value };
  return { what, unit, value: all, target, met: meets(value, target) };
}

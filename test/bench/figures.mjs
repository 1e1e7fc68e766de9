// What is made of the samples: medians, ratios, verdicts. No I/O.

export function percentile(sorted, p) {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median, smallest and largest; undefined when nothing was measured. */
export function spread(values) {
  const known = values.filter((value) => value !== undefined && Number.isFinite(value));
  if (known.length === 0) return undefined;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) };
}

/**
 * Round by round, because the rounds are what makes two measurements neighbours in time: what the machine did to one of
 * a round's variants it likely did to the others. A round in which either failed is left out.
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

/** The columns that one variant's own samples fill. */
export function variantColumns(samples) {
  const known = samples.filter(Boolean);
  const mid = (value) => spread(known.map(value))?.median;
  return {
    rate: mid((sample) => sample.rate),
    cpuServer: mid((sample) => sample.cpuServer),
    cpuPostgres: mid((sample) => sample.cpuPostgres),
    cpuSandbox: mid((sample) => sample.cpuSandbox),
    p50: mid((sample) => sample.p50),
    p99: mid((sample) => sample.p99),
    errors: known.length === 0 ? undefined : known.reduce((sum, sample) => sum + sample.errors, 0),
  };
}

/** What this machine cannot tell (CPU and memory without /proc) is not a failure. */
export const LEFT_OUT = 'left out';

const cpuOf = (sample) => (sample.cpuServer ?? Number.NaN) + (sample.cpuPostgres ?? 0);
const rateOf = (sample) => sample.rate;

/** A row that compares one variant with another. `by` is 'rate' or 'cpu'. */
export function ratioRow(what, samples, others, { by = 'rate', target, columns = {} } = {}) {
  const value = spread(ratios(samples, others, by === 'cpu' ? cpuOf : rateOf));
  const row = { what, unit: 'ratio', value, target, met: meets(value?.median, target), ...columns };
  return value || by === 'rate' || !samples.some(Boolean) ? row : { ...row, figure: LEFT_OUT };
}

/** What each of `count` additions cost on top of `base`, in CPU, as a ratio to `unit`; round by round. */
export function addedCpuRow(what, { samples, base, unit, count, target }) {
  const added = samples.flatMap((sample, round) =>
    sample && base[round] && unit[round] ? [(cpuOf(sample) - cpuOf(base[round])) / count / cpuOf(unit[round])] : [],
  );
  const value = spread(added);
  const row = { what, unit: 'ratio', value, target, met: meets(value?.median, target) };
  return value || added.length === 0 ? row : { ...row, figure: LEFT_OUT };
}

/** A row for a figure that was measured once. */
export function singleRow(what, value, unit, target) {
  const all = value === undefined ? undefined : { median: value };
  return { what, unit, value: all, target, met: meets(value, target) };
}

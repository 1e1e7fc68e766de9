// Computes the ticks of a year, with clock changes and month ends, in processes with five different time zones.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
const TICKS = new URL('../../dist/outbound/ticks.js', import.meta.url).href;
const EVERY_MS = 15 * 60_000;

/** Prints all quarter-hour ticks of 2026, and the zone's UTC offsets to show that its clock did change. */
const SCRIPT = `
import { nextTickMs } from '${TICKS}';
const end = Date.UTC(2027, 0, 1);
const ticks = [];
for (let at = Date.UTC(2026, 0, 1) - 1; (at = nextTickMs(at, ${EVERY_MS})) < end; ) ticks.push(at);
const offsets = new Set(ticks.map((tick) => new Date(tick).getTimezoneOffset()));
console.log(JSON.stringify({ ticks, offsets: [...offsets] }));`;

export async function drill() {
  const run = promisify(execFile);
  const years = await Promise.all(
    ZONES.map(async (zone) => {
      const options = { env: { TZ: zone }, maxBuffer: 10_000_000 };
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', SCRIPT], options);
      return { zone, ...JSON.parse(stdout) };
    }),
  );
  const expected = Array.from({ length: 365 * 96 }, (_, tick) => Date.UTC(2026, 0, 1) + tick * EVERY_MS);
  const isExpected = ({ ticks }) =>
    ticks.length === expected.length && ticks.every((tick, at) => tick === expected[at]);
  const offsets = years.map(({ zone, offsets }) => `${zone} ${offsets.join('/')}`).join(', ');
  const changing = years.filter(({ offsets }) => offsets.length > 1).length;
  return [
    {
      what: 'zones with a clock change during the year',
      result: `${changing} (minutes from UTC: ${offsets})`,
      ok: changing === 3,
    },
    ...years.map((year) => ({
      what: `ticks of 2026 in ${year.zone}, each exactly once`,
      result: `${year.ticks.length} of ${expected.length}`,
      ok: isExpected(year),
    })),
  ];
}

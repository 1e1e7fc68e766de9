// Ticks through a year with its clock changes and month ends, as processes in five time zones see them.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
const TICKS = new URL('../../dist/outbound/ticks.js', import.meta.url).href;
const EVERY_MS = 15 * 60_000;

/** Tells every tick of 2026, a quarter of an hour each, and whether the zone's clock really changed. */
const WALK = `
import { nextTickMs } from '${TICKS}';
const end = Date.UTC(2027, 0, 1);
const ticks = [];
for (let at = Date.UTC(2026, 0, 1) - 1; (at = nextTickMs(at, ${EVERY_MS})) < end; ) ticks.push(at);
const offsets = new Set(ticks.map((tick) => new Date(tick).getTimezoneOffset()));
console.log(JSON.stringify({ ticks, offsets: [...offsets] }));`;

export async function drill() {
  const run = promisify(execFile);
  const seen = await Promise.all(
    ZONES.map(async (zone) => {
      const options = { env: { TZ: zone }, maxBuffer: 10_000_000 };
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', WALK], options);
      return { zone, ...JSON.parse(stdout) };
    }),
  );
  const expected = Array.from({ length: 365 * 96 }, (_, tick) => Date.UTC(2026, 0, 1) + tick * EVERY_MS);
  const isExpected = ({ ticks }) =>
    ticks.length === expected.length && ticks.every((tick, at) => tick === expected[at]);
  const offsets = seen.map(({ zone, offsets }) => `${zone} ${offsets.join('/')}`).join(', ');
  const changing = seen.filter(({ offsets }) => offsets.length > 1).length;
  return [
    {
      what: 'zones whose clock changed on the way',
      figure: `${changing} (minutes from UTC: ${offsets})`,
      ok: changing === 3,
    },
    ...seen.map((one) => ({
      what: `ticks of 2026 in ${one.zone}, each once and none missing`,
      figure: `${one.ticks.length} of ${expected.length}`,
      ok: isExpected(one),
    })),
  ];
}

// Prints what the loss of one cell's primary does at a million conversions a second: node docs/simulation/main.mjs --help
import { parseArgs } from 'node:util';
import { DEFAULTS, simulate } from './cell-loss.mjs';

const NUMBERS = Object.keys(DEFAULTS).filter((name) => typeof DEFAULTS[name] === 'number');
const HELP = `node docs/simulation/main.mjs [options]

Each option has a number: ${NUMBERS.map((name) => `--${name} ${DEFAULTS[name]}`).join(', ')}
  --backOff <fixed|doubling>   default ${DEFAULTS.backOff}
  --json                       prints the whole result, with every second of the cell
`;
const TIMELINE_EVERY_S = 5;

const { values } = parseArgs({
  options: {
    ...Object.fromEntries(NUMBERS.map((name) => [name, { type: 'string' }])),
    backOff: { type: 'string', default: DEFAULTS.backOff },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const numbers = NUMBERS.flatMap((name) => (values[name] === undefined ? [] : [[name, Number(values[name])]]));
const wrong = numbers.find(([, number]) => !Number.isFinite(number) || number < 0);
if (wrong || !['fixed', 'doubling'].includes(values.backOff)) {
  process.stderr.write(`${wrong ? `--${wrong[0]} needs a number` : '--backOff is fixed or doubling'}.\n${HELP}`);
  process.exit(2);
}
const result = simulate({ ...Object.fromEntries(numbers), backOff: values.backOff });
process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : report(result));

function report({ settings, lost, others, all }) {
  const share = ((100 * all.unavailable) / all.attempts).toFixed(2);
  return `${count(settings.rate)} conversions per second in ${settings.cells} cells, seed ${settings.seed}
The primary of one cell is lost at ${settings.lossAt} s for ${settings.lossSeconds} s. Senders: ${settings.backOff} back-off, ${settings.attemptsMax} attempts.

 second   new  sent  accepted   503   queue  senders waiting   (of this cell, thousands)
${timeline(lost.seconds)}
this cell     ${line(lost)}
              recovered ${lost.recoveredAfter} s after the return: 99 % of the senders that waited have their answer
              (the last one after ${Math.round(lost.lastRetryAfter)} s)
${others ? `other cells   ${line(others)}\n` : ''}all cells     ${line(all)}; ${share} % of all requests were answered with 503
`;
}

function timeline(seconds) {
  const rows = seconds.map((second, at) => ({ ...second, at })).filter(({ at }) => at % TIMELINE_EVERY_S === 0);
  const cell = (number, width) => (number / 1_000).toFixed(1).padStart(width);
  return rows
    .map(
      ({ at, requests, attempts, accepted, unavailable, queue, senders }) =>
        `${String(at).padStart(7)}${cell(requests, 6)}${cell(attempts, 6)}${cell(accepted, 10)}${cell(unavailable, 6)}${cell(queue, 8)}${cell(senders, 17)}`,
    )
    .join('\n');
}

function line({ requests, accepted, givenUp, attempts, unavailable, queueMax, p99, slowest }) {
  return (
    `${count(requests)} conversions: ${count(accepted)} accepted, ${count(givenUp)} given up; ` +
    `${count(attempts)} requests, ${count(unavailable)} answered with 503; longest queue ${count(queueMax)}; ` +
    `p99 ${(1_000 * p99).toFixed(0)} ms, slowest ${slowest.toFixed(1)} s`
  );
}

function count(number) {
  return number.toLocaleString('en-US');
}

// The standard run: everything that needs no large log, measured on one service.
import { join } from 'node:path';
import { measureRates, rateRows } from './rates.mjs';
import { startService } from './service.mjs';
import { completenessRow, fillTo, memoryRows, startAndStopRows, Tally, walRows } from './volume.mjs';

export async function standardRun(context) {
  const { directory, settings, progress, part } = context;
  const tally = new Tally();
  progress('starting the service …');
  const service = await part('starting the service', () => startService(join(directory, 'service')));
  // Before the rounds, so that they run on a warm service. Their conversions count towards the million.
  const early =
    service && (await part('the first conversions', () => fillTo(service, settings.memoryFirst, tally, context)));

  const rates = await measureRates(service, context);
  for (const [id, samples] of Object.entries(rates.samples)) {
    if (id.startsWith('inbound')) for (const sample of samples.filter(Boolean)) tally.add(sample);
  }
  const rows = rateRows(rates);
  if (!early) return rows;

  const late = await part('filling the log', () => fillTo(service, settings.memoryLast, tally, context));
  if (late) {
    rows.push(...memoryRows(early, late));
    rows.push(...((await part('WAL per conversion', () => walRows(service, late, tally, context))) ?? []));
  }
  rows.push(await part('completeness of the log', () => completenessRow(service, tally)));
  rows.push(...((await part('start and stop', () => startAndStopRows(service, context))) ?? []));
  return rows.filter(Boolean);
}

// The standard run: every figure but the ten-million ones, from one service in one go.
import { join } from 'node:path';
import { Books, booksRow, fillTo, memoryRows, startAndStopRows, walRows } from './million.mjs';
import { measureRates, rateRows } from './rates.mjs';
import { startService } from './service.mjs';

export async function standardRun(context) {
  const { directory, settings, progress, part } = context;
  const books = new Books();
  progress('starting the service …');
  const service = await part('starting the service', () => startService(join(directory, 'service')));
  // Before the rounds: they are then measured on a warm service, and they count towards the million.
  const early =
    service && (await part('the first conversions', () => fillTo(service, settings.memoryFirst, books, context)));

  const rates = await measureRates(service, context);
  for (const [id, samples] of Object.entries(rates.samples)) {
    if (id.startsWith('inbound')) for (const sample of samples.filter(Boolean)) books.add(sample);
  }
  const rows = rateRows(rates);
  if (!early) return rows;

  const late = await part('filling the log', () => fillTo(service, settings.memoryLast, books, context));
  if (late) {
    rows.push(...memoryRows(early, late));
    rows.push(...((await part('WAL per conversion', () => walRows(service, late, books, context))) ?? []));
  }
  rows.push(await part('the books', () => booksRow(service, books)));
  rows.push(...((await part('start and stop', () => startAndStopRows(service, context))) ?? []));
  return rows.filter(Boolean);
}

import { Counter, type Registry } from 'prom-client';

/** Counts push attempts by outcome. */
export function countPushes(registry: Registry): (outcome: 'delivered' | 'failed') => void {
  const pushes = new Counter({
    name: 'cc_outbound_pushes_total',
    help: 'Attempts to push totals to a webhook',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // Initialise both labels, so that alerts find a series before the first failure.
  for (const outcome of ['delivered', 'failed']) pushes.inc({ outcome }, 0);
  return (outcome) => pushes.inc({ outcome });
}

import { Counter, type Registry } from 'prom-client';

/** Tries to push totals, by what came of them. */
export function countPushes(registry: Registry): (outcome: 'delivered' | 'failed') => void {
  const pushes = new Counter({
    name: 'cc_outbound_pushes_total',
    help: 'Tries to push totals to a webhook',
    labelNames: ['outcome'],
    registers: [registry],
  });
  // Both are there from the start: an alert must find the one that has not happened yet.
  for (const outcome of ['delivered', 'failed']) pushes.inc({ outcome }, 0);
  return (outcome) => pushes.inc({ outcome });
}

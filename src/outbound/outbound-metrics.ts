import { Counter, type Registry } from 'prom-client';

/** Tries to push totals, by what came of them. */
export function countPushes(registry: Registry): (outcome: 'delivered' | 'failed') => void {
  const pushes = new Counter({
    name: 'cc_outbound_pushes_total',
    help: 'Tries to push totals to a webhook',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return (outcome) => pushes.inc({ outcome });
}

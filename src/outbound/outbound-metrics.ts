import { Counter, Gauge, type Registry } from 'prom-client';
import { isClosed } from '../sites/site.js';
import type { SiteDirectory } from '../sites/site-directory.js';

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

/** Only those that the service disabled: one that an operator disabled needs no attention. */
export function countDisabledWebhooks(registry: Registry, directory: Pick<SiteDirectory, 'all'>): void {
  new Gauge({
    name: 'cc_outbound_webhooks_disabled',
    help: 'Webhooks that the service disabled because they failed for too long or answered 410',
    registers: [registry],
    collect() {
      this.set(directory.all().filter(({ site }) => site.webhook?.reason !== undefined && !isClosed(site)).length);
    },
  });
}

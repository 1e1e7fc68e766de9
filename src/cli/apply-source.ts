import { applyRules } from '../conversions/sources/apply-rules.js';
import { withDeliveries } from '../conversions/sources/open-deliveries.js';
import { type Bound, positionRangeOf } from '../history/bound.js';
import { requireConnected, requireSource } from '../sites/sources/source.handlers.js';
import { card } from './output/table.js';
import type { Session } from './session.js';

interface ApplyOptions {
  readonly site: string;
  readonly from?: Bound;
  readonly to?: Bound;
  readonly dryRun?: true;
  readonly json?: true;
}

/** Applies the rules of a source to stored deliveries. What becomes a conversion is delivered by the service. */
export async function applySource(session: Session, name: string, options: ApplyOptions): Promise<void> {
  requireSource(name);
  const dependencies = await session.openSite(options.site);
  const { site, log } = dependencies;
  const { keyId } = requireConnected(site, name);
  await withDeliveries(dependencies, { host: site.host, keyId }, async ({ deliveries, site: loaded, source }) => {
    const range = await positionRangeOf(log, options, site);
    const applied = await applyRules({
      ...{ log, deliveries, site: loaded, source, range, isDryRun: options.dryRun ?? false },
      progress: () =>
        session.throwIfStopped(
          'Interrupted. Run the same command again to continue: what was converted stays one conversion.',
        ),
    });
    const document = { ...applied, ...(options.dryRun && { dryRun: true as const }) };
    const { reasons, ...counts } = document;
    await session.output.show(options.json, document, () => card({ ...counts, ...reasons }));
    if (!options.json && options.dryRun)
      session.output.note('Nothing was changed. Run it without --dry-run to convert them.');
  });
}

import { dedupProjection } from '../conversions/dedup.projection.js';
import { sourceDeliveriesProjection } from '../conversions/sources/source-deliveries.projection.js';
import { deliveriesProjection } from '../delivery/deliveries.projection.js';
import type { Projection } from '../log/projections/projection.js';
import { totalsProjection } from '../outbound/totals.projection.js';
import { authFailuresProjection } from '../sites/keys/auth-failures.projection.js';
import { keyUsageProjection } from '../sites/keys/key-usage.projection.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { sitesProjection } from '../sites/sites.projection.js';
import { statisticsProjection } from '../statistics/statistics.projection.js';
import { consentProjection, identifiersProjection } from '../visitors/inline.projections.js';
import { matchRateProjection } from '../visitors/match-rate.projection.js';
import { unmatchedProjection } from '../visitors/unmatched.projection.js';

/** All projections. The service keeps them up to date; the command line rebuilds them and catches them up. */
export function allProjections(secrets: SiteSecrets): Projection[] {
  return [
    sitesProjection,
    dedupProjection(secrets),
    authFailuresProjection,
    keyUsageProjection,
    deliveriesProjection,
    identifiersProjection,
    consentProjection,
    unmatchedProjection,
    matchRateProjection,
    totalsProjection,
    statisticsProjection(),
    sourceDeliveriesProjection,
  ];
}

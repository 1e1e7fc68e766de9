import { dedupWindowOf } from '../../conversions/dedup-key.js';
import type { Check } from '../verify.js';

/** The rows of a projection are what a fold of the log up to its checkpoint makes. */
export function projectionCheck(name: string, isShortened: boolean): Check {
  return {
    name: `projection ${name}`,
    async examine({ projections, sites, settings, progress }) {
      if (isShortened) return { ok: true, detail: 'not compared: the log no longer reaches back to its beginning' };
      const windows = (await sites.all()).map((site) => dedupWindowOf(site.settings, settings.dedupWindowMs));
      const keptMs = name === 'dedup' ? Math.max(0, ...windows) : settings.identifierTtlMs;
      const forgottenBefore = new Date(Date.now() - keptMs);
      const { position, rows, missing, surplus } = await projections.compare(name, forgottenBefore, () =>
        progress(`projection ${name} …`),
      );
      const counted = `${rows} rows as of position ${position}`;
      if (missing + surplus === 0) return { ok: true, detail: counted };
      const wrong = `${missing} rows are missing and ${surplus} are not what the log says`;
      return { ok: false, detail: `${wrong} (${counted}); "projections rebuild ${name}" folds it anew` };
    },
  };
}

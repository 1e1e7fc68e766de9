import { dedupWindowOf } from '../../conversions/dedup-key.js';
import { counted } from '../../kernel/counted.js';
import type { Check } from '../verify.js';

/** The rows of a projection equal a fold of the log up to its position. */
export function projectionCheck(name: string): Check {
  return {
    name: `projection ${name}`,
    async examine({ postgres, projections, sites, settings, removedUntil, progress }) {
      if (removedUntil > 0)
        return { ok: true, detail: 'not compared: retention has removed events from the start of the log' };
      const windows = (await sites.all()).map((site) => dedupWindowOf(site.settings, settings.dedupWindowMs));
      const retainedMs = name === 'dedup' ? Math.max(0, ...windows) : settings.identifierTtlMs;
      const expiredBefore = new Date(postgres.clock.nowMs() - retainedMs);
      const { position, rows, missing, surplus } = await projections.compare(name, expiredBefore, () =>
        progress(`projection ${name} …`),
      );
      const compared = `${counted(rows, 'row')} as of position ${position}`;
      if (missing + surplus === 0) return { ok: true, detail: compared };
      const differences = `${counted(missing, 'row is', 'rows are')} missing and ${surplus} ${surplus === 1 ? 'does' : 'do'} not match the log`;
      // A rebuild from a changed log would hide the change.
      const advice = `if "chain" and "checkpoints" pass, also against checkpoints kept elsewhere, fix it with "projections rebuild ${name}"; otherwise the log may have been altered, and a rebuild would hide it`;
      return { ok: false, detail: `${differences} (${compared}); ${advice}` };
    },
  };
}

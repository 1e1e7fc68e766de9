import { CONVERSION } from '../events/conversion.events.js';
import { type Outcome } from '../events/delivery.events.js';
import type { Page, Projection } from '../log/projection.js';
import type { SkipReason } from '../platforms/platform.js';

/** What a visit that is identified later may mend. */
export const WANTING: readonly SkipReason[] = ['no_click_identifier', 'no_identifier', 'no_client_identifier'];

const SKIPPED = 'conversion.skipped.v1';

export function isWanting({ reason }: Pick<Outcome, 'reason'>): boolean {
  return WANTING.includes(reason as SkipReason);
}

/** Conversions that some platform was not told of for want of an identifier, by the person. */
export const unmatchedProjection: Projection = {
  name: 'unmatched',
  tables: ['unmatched'],
  prunedBy: 'time',
  async fold(page: Page): Promise<void> {
    const skipped = await page.events({ types: [SKIPPED] });
    const wanting = skipped.filter(({ data }) => isWanting(data));
    // The first of each counts, so the last ones are put in first.
    const skippedAt = new Map(wanting.reverse().map(({ stream, position }) => [stream, position] as const));
    if (skippedAt.size === 0) return;
    const conversions = [...skippedAt.keys()].map((stream) => stream.slice(CONVERSION.length + 1));
    const rows = (await page.openings(CONVERSION, conversions))
      // The erased are not looked for, and a trial sends nothing, late or not.
      .filter((event) => event.type === 'conversion.received.v1' && event.personal !== null && !event.data.trial)
      .map(({ stream, site, personal, position, time }) => ({
        conversion: stream.slice(CONVERSION.length + 1),
        ...{ site, subject: personal?.subject, position, skipped: skippedAt.get(stream), time },
      }));
    await page.tx.query(
      `INSERT INTO unmatched (conversion, site, subject, position, skipped, time)
       SELECT conversion, site, decode(subject, 'hex'), position, skipped, time FROM json_to_recordset($1) AS u (
         conversion uuid, site text, subject text, position bigint, skipped bigint, time timestamptz)
       ON CONFLICT (conversion) DO NOTHING`,
      [JSON.stringify(rows)],
    );
  },
};

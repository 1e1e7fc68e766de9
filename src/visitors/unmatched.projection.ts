import { CONVERSION } from '../events/conversion.events.js';
import { type Outcome } from '../events/delivery.events.js';
import type { Page, Projection } from '../log/projection.js';
import type { SkipReason } from '../platforms/platform.js';

/** Skips that a visit identified after the conversion can resolve. */
const MISSING_IDENTIFIER_REASONS: readonly SkipReason[] = [
  'no_click_identifier',
  'no_identifier',
  'no_client_identifier',
];

const SKIPPED = 'conversion.skipped.v1';

export function lacksIdentifier({ reason }: Pick<Outcome, 'reason'>): boolean {
  return MISSING_IDENTIFIER_REASONS.includes(reason as SkipReason);
}

/** Conversions of which at least one delivery was skipped because an identifier was missing. */
export const unmatchedProjection: Projection = {
  name: 'unmatched',
  tables: ['unmatched'],
  subjectColumns: [{ table: 'unmatched', column: 'subject' }],
  prunedBy: { unmatched: 'time' },
  async fold(page: Page): Promise<void> {
    const skipped = await page.events({ types: [SKIPPED] });
    const unmatched = skipped.filter(({ data }) => lacksIdentifier(data));
    // Reversed, so that the first skip of each conversion overwrites the later ones.
    const skippedAt = new Map(unmatched.reverse().map(({ stream, position }) => [stream, position] as const));
    if (skippedAt.size === 0) return;
    const conversions = [...skippedAt.keys()].map((stream) => stream.slice(CONVERSION.length + 1));
    const rows = (await page.openings(CONVERSION, conversions))
      // Erased people are not matched again, trial conversions are never sent, and corrections count in no match rate.
      .filter(
        (event) =>
          event.type === 'conversion.received.v1' &&
          event.personal !== null &&
          !event.data.trial &&
          !event.data.correction,
      )
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

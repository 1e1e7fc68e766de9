import { CONVERSION } from '../events/conversion.events.js';
import { type Outcome } from '../events/delivery.events.js';
import { subjectOfPerson } from '../events/person-keys.js';
import type { Page, Projection } from '../log/projections/projection.js';
import type { Reducer } from '../log/projections/reducer.js';
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

/** The position of the first such skip of each conversion. */
const SKIPS: Reducer<Map<string, number>> = {
  types: [SKIPPED],
  start: () => new Map(),
  add(skips, row) {
    if (!skips.has(row.streamId) && lacksIdentifier(row.data() as Outcome)) skips.set(row.streamId, row.position);
  },
};

/** Conversions of which at least one delivery was skipped because an identifier was missing. */
export const unmatchedProjection: Projection = {
  name: 'unmatched',
  tables: ['unmatched'],
  bySite: true,
  subjectColumns: [{ table: 'unmatched', column: 'subject' }],
  prunedBy: { unmatched: 'time' },
  reducers: [SKIPS],
  async fold(page: Page): Promise<void> {
    const skips = await page.reduce(SKIPS);
    if (skips.size === 0) return;
    const rows = (await page.openings(CONVERSION, [...skips.keys()]))
      // Erased people are not matched again, trial conversions are never sent, and corrections count in no match rate.
      .filter(
        (event) =>
          event.type === 'conversion.received.v1' &&
          event.personal !== null &&
          !event.data.trial &&
          !event.data.correction,
      )
      .map(({ stream, site, personal, position, time }) => {
        const conversion = stream.slice(CONVERSION.length + 1);
        const subject = personal ? subjectOfPerson(personal) : undefined;
        return { conversion, site, subject, position, skipped: skips.get(conversion), time };
      });
    await page.tx.query(
      `INSERT INTO unmatched (conversion, site, subject, position, skipped, time)
       SELECT conversion, site, decode(subject, 'hex'), position, skipped, time FROM json_to_recordset($1) AS u (
         conversion uuid, site text, subject text, position bigint, skipped bigint, time timestamptz)
       ON CONFLICT (conversion) DO NOTHING`,
      [JSON.stringify(rows)],
    );
  },
};

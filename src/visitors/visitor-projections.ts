import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projection.js';
import { inlineOf } from './identifier-record.js';

/** What the append hands to the inline projections, as SQL reads it. */
function notesOf(events: readonly StoredEvent[]): string | undefined {
  const notes = events.flatMap((event) => {
    const inline = inlineOf(event);
    const { position, site, personal, time } = event;
    return inline ? [{ position, site, subject: personal?.subject, time: Date.parse(time), inline }] : [];
  });
  return notes.length === 0 ? undefined : JSON.stringify(notes);
}

/** Rows of erased people are not made again: what they were made of is gone. */
function inlineProjection(name: string, types: readonly string[], more: Partial<Projection> = {}): Projection {
  return {
    name,
    tables: [name],
    inline: true,
    ...more,
    async fold(page: Page): Promise<void> {
      const notes = notesOf(await page.events({ types }));
      if (notes) await page.tx.query(`SELECT cc.note_${name}($1)`, [notes]);
    },
  };
}

/** What is known of people by their visits. */
export const identifiersProjection = inlineProjection(
  'identifiers',
  ['visitor.visited.v1', 'visitor.identified.v1', 'visitor.rejudged.v1'],
  { prunedBy: 'at' },
);

/** What people said last about being told of. */
export const consentProjection = inlineProjection('consent', [
  'visitor.visited.v1',
  'visitor.identified.v1',
  'visitor.consent_changed.v1',
]);

interface MatchedDay {
  readonly site: string;
  readonly day: string;
  readonly conversions: number;
  readonly matched: number;
  readonly late: number;
  readonly judged: number;
}

const MATCHED = ['conversion.received.v1', 'conversion.reopened.v1'];

/** Conversions that counted, by day, and how many of them were joined to a visit. Reads nothing personal. */
export const matchRateProjection: Projection = {
  name: 'match_rate',
  tables: ['match_rate'],
  source: 'any',
  categories: [CONVERSION],
  async fold(page: Page): Promise<void> {
    const days = new Map<string, MatchedDay>();
    for (const { type, site, minute, values, count } of await page.count(MATCHED, [
      'trial',
      'matched',
      'judged',
      'joins',
    ])) {
      const [trial, matched, judged, joins] = values;
      const isLate = type === 'conversion.reopened.v1';
      const day = isLate ? joins : new Date(minute).toISOString().slice(0, 10);
      if (trial === 'true' || !day) continue;
      const key = `${site} ${day}`;
      const known = days.get(key) ?? { site, day, conversions: 0, matched: 0, late: 0, judged: 0 };
      days.set(key, {
        ...known,
        conversions: known.conversions + (isLate ? 0 : count),
        matched: known.matched + (isLate || matched === 'true' ? count : 0),
        late: known.late + (isLate ? count : 0),
        judged: known.judged + (judged === 'true' ? count : 0),
      });
    }
    if (days.size === 0) return;
    await page.tx.query(
      `INSERT INTO match_rate AS m (site, day, conversions, matched, late, judged)
       SELECT site, day, conversions, matched, late, judged FROM json_to_recordset($1) AS d (
         site text, day date, conversions bigint, matched bigint, late bigint, judged bigint)
       ON CONFLICT (site, day) DO UPDATE SET conversions = m.conversions + excluded.conversions,
         matched = m.matched + excluded.matched, late = m.late + excluded.late, judged = m.judged + excluded.judged`,
      [JSON.stringify([...days.values()])],
    );
  },
};

import { CONVERSION, type ConversionPersonal } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projection.js';
import type { Visit } from '../platforms/conversion.js';
import { attributionOf } from './carried-identifiers.js';

type Received = StoredEvent<'conversion.received.v1'>;

/**
 * Where each conversion came from and which identifiers it carried. One row per conversion and no sums: an erasure deletes the
 * rows of a person, after which the sums are those of a log without the person. Trial conversions and corrections have none.
 */
export const attributionsProjection: Projection = {
  name: 'attributions',
  tables: ['attributions'],
  subjectColumns: [{ table: 'attributions', column: 'subject' }],
  prunedBy: 'time',
  async fold(page: Page): Promise<void> {
    const rows = new Map<string, object>();
    const visits = new Map<string, Visit>();
    // One at a time: a page of events with their personal parts would keep the garbage collector busy.
    await page.each({ types: ['conversion.received.v1', 'conversion.reopened.v1'] }, (row) => {
      const event = row.event();
      if (event.type === 'conversion.received.v1') addRow(rows, event);
      else if (event.type === 'conversion.reopened.v1' && event.personal?.visit)
        visits.set(event.stream, event.personal.visit);
    });
    if (visits.size > 0) {
      const ids = [...visits.keys()].map((stream) => stream.slice(CONVERSION.length + 1));
      for (const event of await page.openings(CONVERSION, ids))
        if (event.type === 'conversion.received.v1') addRow(rows, event, visits.get(event.stream));
    }
    if (rows.size === 0) return;
    await page.tx.query(
      `INSERT INTO attributions AS a
         (conversion, site, subject, time, currency, value, matched, source, medium, campaign, click, identifiers, platforms)
       SELECT conversion, site, decode(subject, 'hex'), time, currency, value, matched, source, medium, campaign, click,
              string_to_array(identifiers, ','), string_to_array(platforms, ',')
         FROM json_to_recordset($1) AS r (conversion uuid, site text, subject text, time timestamptz, currency text,
              value numeric, matched boolean, source text, medium text, campaign text, click text, identifiers text,
              platforms text)
       ON CONFLICT (conversion) DO UPDATE SET (matched, source, medium, campaign, click, identifiers) =
         (excluded.matched, excluded.source, excluded.medium, excluded.campaign, excluded.click, excluded.identifiers)`,
      [JSON.stringify([...rows.values()])],
    );
  },
};

/** `visit`: the one that was identified later. */
function addRow(rows: Map<string, object>, event: Received, visit?: Visit): void {
  const { stream, site, time, data, personal } = event;
  if (!personal?.subject || data.trial || data.correction) return;
  const known: ConversionPersonal = visit ? { ...personal, visit } : personal;
  const { source, medium, campaign, click, identifiers } = attributionOf(known, Date.parse(time));
  rows.set(stream, {
    conversion: stream.slice(CONVERSION.length + 1),
    site,
    subject: personal.subject,
    time,
    currency: data.currency,
    value: data.value,
    matched: data.matched === true || visit !== undefined,
    source,
    medium,
    campaign,
    click,
    // As texts: PostgreSQL reads them faster than arrays in JSON.
    identifiers: identifiers.join(','),
    platforms: (data.platforms ?? []).join(','),
  });
}

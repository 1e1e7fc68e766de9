import { subjectOfPerson } from '../events/person-keys.js';
import type { StoredEvent } from '../log/event.js';
import type { Page, Projection } from '../log/projections/projection.js';
import { inlineOf } from './identifier-record.js';

/** Identifier records: the newest click id of each kind, campaign fields, last visit and bot verdict of each person. */
export const identifiersProjection = inlineProjection(
  'identifiers',
  ['visitor.visited.v1', 'visitor.clicked.v1', 'visitor.identified.v1', 'visitor.rejudged.v1'],
  { prunedBy: { identifiers: 'at' } },
);

/** The latest consent of each person. */
export const consentProjection = inlineProjection('consent', [
  'visitor.visited.v1',
  'visitor.clicked.v1',
  'visitor.identified.v1',
  'visitor.consent_changed.v1',
]);

/**
 * A projection written by the SQL function `cc.note_<name>`: the append calls it in its own transaction, a rebuild calls it
 * through `fold`. A rebuild does not restore rows of erased people, because their personal parts are gone.
 */
function inlineProjection(
  name: string,
  types: readonly string[],
  options: Pick<Projection, 'prunedBy'> = {},
): Projection {
  return {
    name,
    tables: [name],
    subjectColumns: [{ table: name, column: 'subject' }],
    inline: true,
    bySite: true,
    ...options,
    async fold(page: Page): Promise<void> {
      const notes = notesOf(await page.events({ types }));
      if (notes) await page.tx.query(`SELECT cc.note_${name}($1)`, [notes]);
    },
  };
}

/** The same JSON that the append passes to `cc.note_<name>`. */
function notesOf(events: readonly StoredEvent[]): string | undefined {
  const notes = events.flatMap((event) => {
    const inline = inlineOf(event);
    const { position, site, personal, time } = event;
    const subject = personal ? subjectOfPerson(personal) : undefined;
    return inline ? [{ position, site, subject, time: Date.parse(time), inline }] : [];
  });
  return notes.length === 0 ? undefined : JSON.stringify(notes);
}

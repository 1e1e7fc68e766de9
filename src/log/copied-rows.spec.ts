import { derivedUuid } from '../kernel/uuid.js';
import { parseCopiedRows } from './copied-rows.js';
import { copyLine } from './copy-text.js';
import { SiteCopyRefused } from './site-copy-errors.js';

const SITE = 'shop.example';
const SITE_STREAM = derivedUuid(`site ${SITE}`);
const ID = '019a0000-0000-7000-8000-000000000001';
const OTHER_ID = '019a0000-0000-7000-8000-000000000002';

/** The columns of `SEALED_COLUMNS`. */
const VALID = {
  ...{ position: 5, id: ID, category: 'site', stream: SITE_STREAM, version: 1, type: 'site.registered.v1', site: SITE },
  ...{ time: Date.UTC(2026, 0, 1), actor: 'cli', data: JSON.stringify({ host: SITE, aliases: [] }) },
  ...{ has: 't', subject: 'ab'.repeat(32), personal: '{"page":"/"}', origin: null, reference: null },
  ...{ salt: 'cd'.repeat(16), of: SITE, erased: null },
};
type Row = { [Name in keyof typeof VALID]: string | number | null };

const page = (...rows: Partial<Row>[]) =>
  Buffer.from(rows.map((row) => copyLine(Object.values({ ...VALID, ...row }))).join(''));
const parsed = (...rows: Partial<Row>[]) => parseCopiedRows(page(...rows), SITE);
const next = { position: 6, id: OTHER_ID, version: 2 };
const withoutPersonal = { has: 'f', subject: null, personal: null, salt: null, of: null };

describe('rows of another log', () => {
  it('are accepted with and without a personal part, an erased one, and an origin', () => {
    expect(parsed({}, { ...next, ...withoutPersonal, origin: 2 })).toMatchObject([
      { position: 5, order: 5, isLate: false, isErased: false, id: ID, stream: SITE_STREAM, version: 1 },
      { position: 6, order: 2, isLate: true },
    ]);
    expect(parsed({ ...withoutPersonal, erased: 'ef'.repeat(32) })).toMatchObject([{ isErased: true }]);
    expect(parsed({ salt: null, subject: null })).toHaveLength(1);
    expect(parsed()).toEqual([]);
  });

  it.each<[string, Partial<Row>]>([
    ['of another site', { site: 'other.example' }],
    ['with a personal part of another site', { of: 'other.example' }],
    ['of a type that is not known', { type: 'site.teleported.v1' }],
    ['of a type of the log itself', { type: 'log.version_started.v1', category: 'log' }],
    ['of a type of users', { type: 'user.added.v1', category: 'user' }],
    ['of another category than its type', { category: 'visitor' }],
    ['in the stream of another site', { stream: derivedUuid('site other.example') }],
    ['without an id', { id: null }],
    ['with an id that is written differently', { id: ID.toUpperCase() }],
    ['without a stream', { stream: 'x' }],
    ['without a position', { position: null }],
    ['at position 0', { position: 0 }],
    ['at a position that is no integer', { position: '1e3' }],
    ['at a position beyond what a number holds', { position: '9007199254740993' }],
    ['with an origin after its position', { origin: 6 }],
    ['with a negative origin', { origin: -1 }],
    ['with version 0', { version: 0 }],
    ['with a version that no column holds', { version: 2 ** 31 }],
    ['without a time', { time: null }],
    ['at an infinite time', { time: 'infinity' }],
    ['in the year 10000', { time: Date.UTC(10_000, 0, 1) }],
    ['in 1970', { time: 1_000 }],
    ['without an actor', { actor: null }],
    ['with a long actor', { actor: 'a'.repeat(10_001) }],
    ['with a long reference', { reference: 'a'.repeat(10_001) }],
    ['without data', { data: null }],
    ['with data that is not JSON', { data: '{"host":' }],
    ['with data that is no object', { data: '[]' }],
    ['with data that is null', { data: 'null' }],
    ['with data of another type', { data: '{"host":1}' }],
    ['with a personal part that is not JSON', { personal: 'x' }],
    ['with a personal part that is no object', { personal: '1' }],
    ['with a subject that is not hexadecimal', { subject: 'xy' }],
    ['with half a byte of a subject', { subject: 'abc' }],
    ['with a long subject', { subject: 'ab'.repeat(65) }],
    ['with an empty salt', { salt: '' }],
    ['with a personal part that is erased', { erased: 'ef'.repeat(32) }],
    ['with a short digest', { ...withoutPersonal, erased: 'ef'.repeat(31) }],
    ['with a subject but without the row', { ...withoutPersonal, subject: 'ab' }],
    ['with a site of a personal part but without the row', { ...withoutPersonal, of: SITE }],
    ['that only says that it is erased, without a digest', { ...withoutPersonal, has: 'e' }],
    ['that only says that it is erased, with its part', { has: 'e', erased: 'ef'.repeat(32) }],
    ['that says neither whether it has a personal part', { has: 'x' }],
  ])('are refused %s', (_, row) => {
    expect(() => parsed(row)).toThrow(SiteCopyRefused);
  });

  it.each<[string, Partial<Row>]>([
    ['at the same position', { ...next, position: 5 }],
    ['at an earlier position', { ...next, position: 4 }],
    ['with the same id', { ...next, id: ID }],
    ['with the same version', { ...next, version: 1 }],
    ['with a gap in the versions', { ...next, version: 3 }],
  ])('are refused if a second one comes %s', (_, row) => {
    expect(parsed({}, next)).toHaveLength(2);
    expect(() => parsed({}, row)).toThrow(SiteCopyRefused);
  });

  it('are refused without values in the message', () => {
    const error = (() => {
      try {
        parsed({ data: '{"host":"secret"}' });
      } catch (caught) {
        return (caught as Error).message;
      }
      return '';
    })();
    expect(error).toMatch(/position 5 of the other log .*Nothing of the page was stored/);
    expect(error).not.toContain('secret');
  });
});

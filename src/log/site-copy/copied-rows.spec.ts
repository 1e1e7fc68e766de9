import fc from 'fast-check';
import { derivedUuid } from '../../kernel/uuid.js';
import { parseCopiedRows } from './copied-rows.js';
import { copyLine } from './copy-text.js';
import { SiteCopyRefused } from './site-copy-errors.js';

const SITE = 'shop.example';
const SITE_STREAM = derivedUuid(`site ${SITE}`);
const ID = '019a0000-0000-7000-8000-000000000001';
const OTHER_ID = '019a0000-0000-7000-8000-000000000002';

const STREAM = '019a0000-0000-7000-8000-00000000000a';

/** The columns of `SEALED_COLUMNS`. */
const VALID = {
  ...{
    position: 5,
    id: ID,
    category: 'visitor',
    stream: STREAM,
    version: 1,
    type: 'visitor.consent_changed.v1',
    site: SITE,
  },
  ...{ time: Date.UTC(2026, 0, 1), actor: 'tag', data: '{"consent":{"ad_storage":"denied"}}' },
  ...{ has: 't', subject: 'ab'.repeat(32), personal: '{"page":"/"}', reference: null },
  ...{ salt: 'cd'.repeat(16), of: SITE, erased: null },
};
type Row = { [Name in keyof typeof VALID]: string | number | null };

const page = (...rows: Partial<Row>[]) =>
  Buffer.from(rows.map((row) => copyLine(Object.values({ ...VALID, ...row }))).join(''));
const parsed = (...rows: Partial<Row>[]) => parseCopiedRows(page(...rows), SITE);
const next = { position: 6, id: OTHER_ID, version: 2 };
const withoutPersonal = { has: 'f', subject: null, personal: null, salt: null, of: null };
const ofSite = (type: string, data: object): Partial<Row> => ({
  ...{ ...withoutPersonal, category: 'site', stream: SITE_STREAM, type, data: JSON.stringify(data) },
});
const registered = (host: string) => ofSite('site.registered.v1', { host, aliases: [] });
const refusedKey: Partial<Row> = {
  ...ofSite('auth.failed.v1', { reason: 'unknown', instance: ID }),
  ...{ category: 'auth', stream: derivedUuid(`auth ${SITE}`) },
};

describe('rows of another log', () => {
  it('are accepted with and without a personal part, and with an erased one', () => {
    expect(parsed({}, { ...next, ...withoutPersonal })).toMatchObject([
      { position: 5, erased: null, id: ID, stream: STREAM, version: 1, part: { data: { page: '/' } } },
      { position: 6, part: null },
    ]);
    expect(parsed({ ...withoutPersonal, erased: 'ef'.repeat(32) })).toMatchObject([{ erased: 'ef'.repeat(32) }]);
    expect(parsed({ salt: null, subject: null })).toHaveLength(1);
    expect(parsed({ subject: 'ab'.repeat(16) })).toHaveLength(1);
    expect(parsed(registered(SITE))).toHaveLength(1);
    expect(parsed(refusedKey)).toHaveLength(1);
    expect(parsed({ ...ofSite('site.job_cancelled.v1', { jobId: OTHER_ID }), stream: OTHER_ID })).toHaveLength(1);
    expect(parsed()).toEqual([]);
  });

  it.each(['system', 'tag', 'cli', 'cli:José da Silva', `key:${ID}`, `user:${ID}`, `token:${ID}`])(
    'are accepted of the actor %s',
    (actor) => {
      expect(parsed({ actor })).toHaveLength(1);
    },
  );

  it('are accepted with any personal part that JSON.stringify has written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (personal) => {
        const { subject: _, ...others } = personal;
        expect(parsed({ personal: JSON.stringify(others) })).toHaveLength(1);
      }),
    );
  });

  it.each<[string, Partial<Row>]>([
    ['of another site', { site: 'other.example' }],
    ['with a personal part of another site', { of: 'other.example' }],
    ['of a type that is not known', { type: 'site.teleported.v1' }],
    ['of a type of the log itself', { type: 'log.version_started.v1', category: 'log' }],
    ['of a type of users', { type: 'user.added.v1', category: 'user' }],
    ['of another category than its type', { category: 'conversion' }],
    ['in the stream of another site', { ...registered(SITE), stream: derivedUuid('site other.example') }],
    ['in a stream that is not that of the site', { ...registered(SITE), stream: STREAM }],
    ['in a stream that is not that of refused keys', { ...refusedKey, stream: STREAM }],
    [
      'in a stream that is not that of its job',
      { ...ofSite('site.job_cancelled.v1', { jobId: OTHER_ID }), stream: STREAM },
    ],
    ['in the stream of the site although it is of a job', ofSite('site.job_cancelled.v1', { jobId: OTHER_ID })],
    ['that register another site', registered('other.example')],
    ['that register the site in another form', registered(SITE.toUpperCase())],
    ['without an id', { id: null }],
    ['with an id that is written differently', { id: ID.toUpperCase() }],
    ['without a stream', { stream: 'x' }],
    ['without a position', { position: null }],
    ['at position 0', { position: 0 }],
    ['at a position that is no integer', { position: '1e3' }],
    ['at a position beyond what a number holds', { position: '9007199254740993' }],
    ['with version 0', { version: 0 }],
    ['with a version that no column holds', { version: 2 ** 31 }],
    ['without a time', { time: null }],
    ['at an infinite time', { time: 'infinity' }],
    ['in the year 10000', { time: Date.UTC(10_000, 0, 1) }],
    ['in 1970', { time: 1_000 }],
    ['without an actor', { actor: null }],
    ['with a long actor', { actor: `cli:${'a'.repeat(10_001)}` }],
    ['with an actor of no known form', { actor: 'root' }],
    ['with a key that has no id', { actor: 'key:' }],
    ['with a long reference', { reference: 'a'.repeat(10_001) }],
    ['without data', { data: null }],
    ['with data that is not JSON', { data: '{"host":' }],
    ['with data that is no object', { data: '[]' }],
    ['with data that is null', { data: 'null' }],
    ['with data of another type', { data: '{"host":1}' }],
    ['with data in which a key occurs twice', { data: '{"consent":{},"consent":{"ad_storage":"denied"}}' }],
    ['with data that has whitespace', { data: '{"consent": {}}' }],
    ['with a number in another notation', { personal: '{"sinceMs":1.0}' }],
    ['with a number beyond all numbers', { personal: '{"sinceMs":1e999}' }],
    ['with a personal part that has the subject again', { personal: `{"subject":"${'cd'.repeat(32)}"}` }],
    ['with a personal part that its type has not', { ...registered(SITE), has: 't', personal: '{}', of: SITE }],
    ['with an erased part that its type has not', { ...registered(SITE), erased: 'ef'.repeat(32) }],
    ['with a personal part that is not JSON', { personal: 'x' }],
    ['with a personal part that is no object', { personal: '1' }],
    ['with a subject that is not hexadecimal', { subject: 'xy' }],
    ['with half a byte of a subject', { subject: 'abc' }],
    ['with a subject of a length that none has', { subject: 'ab'.repeat(20) }],
    ['with a long salt', { salt: 'cd'.repeat(17) }],
    ['with an empty salt', { salt: '' }],
    ['with a personal part that is erased', { erased: 'ef'.repeat(32) }],
    ['with a short digest', { ...withoutPersonal, erased: 'ef'.repeat(31) }],
    ['with a subject but without the row', { ...withoutPersonal, subject: 'ab'.repeat(32) }],
    ['with a site of a personal part but without the row', { ...withoutPersonal, of: SITE }],
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
        parsed({ data: '{"consent":"secret"}' });
      } catch (caught) {
        return (caught as Error).message;
      }
      return '';
    })();
    expect(error).toMatch(/position 5 of the other log .*Nothing of the page was stored/);
    expect(error).not.toContain('secret');
  });
});

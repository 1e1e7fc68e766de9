import { hash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { clickKey, externalIdKey, phoneKey } from '../src/events/person-keys.js';
import { subjectOf } from '../src/kernel/email.js';
import { openSealer } from '../src/kernel/secret-key.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { openErasureList } from '../src/visitors/erasure/erasure-list.js';
import { useAdmin } from './support/admin.js';
import { temporaryFolder } from './support/folders.js';
import { SECRET_KEY } from './support/secret-key.js';

const SITE = 'erase.example';
const JANE = 'jane@example.com';
const PHONE_HASH = hash('sha256', '+16502530000');
const BODY = { email: ' Jane@Example.com ' };
const PATH = `/sites/${SITE}/erasures`;

const erasureList = join(temporaryFolder('cc-erasures-'), 'list');
const admin = await useAdmin({ ERASURE_LIST: erasureList });
const { log } = admin;
const operator = await admin.signedIn('operator');
await operator.post('/sites', { host: SITE });

const receive = (email: string) => receiveOf({ subject: subjectOf(email) });

async function receiveOf(personal: object): Promise<string> {
  const conversionId = randomUUID();
  await log.append({
    ...{ category: 'conversion', stream: conversionId, expected: 'new', site: SITE, actor: 'key:1' },
    events: [
      {
        type: 'conversion.received.v1',
        data: { conversionId, event: 'purchase', currency: 'EUR', trial: false, platforms: [] },
        personal,
      },
    ],
  });
  return conversionId;
}

const personalOf = async (id: string) => (await log.readStream('conversion', id))[0]?.personal;

describe('erasures in the management API', () => {
  it('erase one person as the command line does, after a dry run that changes nothing', async () => {
    const [jane, john] = [await receive(JANE), await receive('john@example.com')];
    const head = await log.head();
    const preview = await operator.post(PATH, { ...BODY, dryRun: true });
    expect(preview).toMatchObject({ status: 200, body: { site: SITE, dryRun: true, events: 1, identifiers: 0 } });
    expect(await log.head()).toBe(head);
    expect(await personalOf(jane)).not.toBeNull();

    const erased = await operator.post(PATH, BODY);
    expect(erased).toMatchObject({ status: 200, body: { dryRun: false, events: 1, identifiers: 0, claims: 0 } });
    expect(await personalOf(jane)).toBeNull();
    expect(await personalOf(john)).not.toBeNull();
    const { body: user } = await operator('/session');
    const [event] = await log.read({ after: head, limit: 10 });
    expect(event).toMatchObject({ type: 'visitor.erased.v1', actor: `user:${user.id}`, data: { events: 1 } });
    const sealer = openSealer(readSettings({ SECRET_KEY, DATABASE_URL: admin.databaseUrl }));
    const list = openErasureList(erasureList, sealer, admin.postgres.pool);
    expect(await list.read()).toEqual([{ site: SITE, subject: subjectOf(JANE), position: expect.any(Number) }]);
  });

  it.each([
    ['a phone', { phone: '+1 650 253 0000' }, phoneKey(PHONE_HASH), { phone: PHONE_HASH }],
    ['an external id', { externalId: 'C-20817' }, externalIdKey('C-20817'), { externalId: 'C-20817' }],
    ['a click id', { clickId: 'Cj0KCQiA' }, clickKey('Cj0KCQiA'), { clickIds: { gclid: 'Cj0KCQiA' } }],
  ])('erase a person named by %s, with and without an email', async (_, named, person, stated) => {
    const alone = await receiveOf({ person, ...stated });
    const withEmail = await receiveOf({ subject: subjectOf(`${person}@example.com`), ...stated });
    const other = await receive('other@example.com');
    expect((await operator.post(PATH, { ...named, dryRun: true })).body).toMatchObject({ dryRun: true, events: 2 });
    expect((await operator.post(PATH, named)).body).toMatchObject({ dryRun: false, events: 2 });
    expect([await personalOf(alone), await personalOf(withEmail)]).toEqual([null, null]);
    expect(await personalOf(other)).not.toBeNull();
  });

  it('are listed with who made them, when and how much, and nothing about the person', async () => {
    await receive('list@example.com');
    await operator.post(PATH, { email: 'list@example.com' });
    const { body: user } = await operator('/session');
    const { body } = await operator(`${PATH}?limit=1`);
    const [event] = await log.read({ site: SITE, types: ['visitor.erased.v1'], newest: true, limit: 1 });
    expect(body.items).toEqual([
      {
        ...{ position: event?.position, id: event?.id, time: event?.time },
        ...{ actor: `user:${user.id}`, actorName: user.name },
        ...{ events: 1, identifiers: 0, claims: 0 },
      },
    ]);
    expect(body.next).toBeGreaterThan(0);
    expect((await operator.post(PATH, { email: 'list@example.com', dryRun: true })).body).toEqual({
      ...{ site: SITE, dryRun: true, events: 0, identifiers: 0, claims: 0 },
    });
    const stranger = await admin.signedIn('operator', []);
    expect((await stranger(PATH)).status).toBe(404);
  });

  it('store nothing that confirms an address in the answers kept for repeats', async () => {
    const headers = { 'idempotency-key': 'erase-1' };
    const first = await operator.post(PATH, BODY, headers);
    const again = await operator.post(PATH, BODY, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await operator.post(PATH, { email: 'else@example.com' }, headers);
    expect(other.status).toBe(422);
    const { rows } = await admin.postgres.pool.query<{ request: Buffer }>(
      `SELECT request FROM cc.idempotency_keys WHERE key = 'erase-1'`,
    );
    // A bare digest has 32 bytes, and every candidate address could be compared with it.
    expect(rows.map(({ request }) => request.length > 32)).toEqual([true]);
  });

  it.each([
    ['no address', { email: 'jane' }, 422],
    ['an address and a hash', { ...BODY, hash: 'a'.repeat(64) }, 400],
    ['a hash of another length', { hash: 'abc' }, 422],
    ['a body that names no person', {}, 400],
  ])('refuse %s without repeating it', async (_, body, status) => {
    const reply = await operator.post(PATH, body);
    expect(reply.status).toBe(status);
    expect(JSON.stringify(reply.body).toLowerCase()).not.toMatch(/jane"|jane@example\.com "/);
  });

  it('need the permission to erase, and reach a removed site', async () => {
    const token = await admin.withToken(operator, ['read', 'write']);
    expect((await token.post(PATH, BODY)).status).toBe(403);
    await operator.post('/sites', { host: 'gone.example' });
    await operator.delete('/sites/gone.example');
    expect(await operator.post('/sites/gone.example/erasures', BODY)).toMatchObject({
      status: 200,
      body: { site: 'gone.example', events: 0 },
    });
  });
});

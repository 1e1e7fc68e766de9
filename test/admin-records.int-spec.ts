import { jest } from '@jest/globals';
import { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { type AdminClient, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createMigratedDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { storeConversion } from './support/stored-conversion.js';

jest.setTimeout(60_000);

const SITE = 'records.example';
const META = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };
const FAILED = { status: 'failed', reason: 'bad event', httpStatus: 400, response: '{"error":"x"}' } as const;

let server: TestServer;
let admin: TestAdmin;
let log: EventLog;
let operator: AdminClient;
let analyst: AdminClient;

beforeAll(async () => {
  server = await startTestServer();
  admin = await startTestAdmin(await createMigratedDatabase(server));
  log = new PostgresEventLog(admin.postgres);
  operator = await admin.signedIn('operator');
  analyst = await admin.signedIn('analyst', [SITE]);
  await operator('/sites', { method: 'POST', body: { host: SITE } });
  await operator(`/sites/${SITE}/connections/meta`, { method: 'PUT', body: { settings: META } });
});
afterAll(async () => {
  await log?.close();
  await admin?.stop();
  await server.stop();
}, 60_000);

function store(orderId: string, outcomes: Parameters<typeof storeConversion>[1]['outcomes']): Promise<string> {
  return storeConversion(log, { site: SITE, orderId, settings: META, outcomes });
}

describe('payload previews of the management API', () => {
  const preview = (caller: AdminClient, body: object, connection = 'meta') =>
    caller(`/sites/${SITE}/connections/${connection}/preview`, { method: 'POST', body });

  it('show what the platform would get, also with settings that are not stored', async () => {
    const id = await store('ORD-PREVIEW', []);
    const head = await log.head();
    for (const body of [{ conversion: id }, { order: 'ORD-PREVIEW' }]) {
      const { body: shown } = await preview(operator, body);
      expect(shown).toMatchObject({ conversionId: id, status: 'sent', payload: { event_name: 'Purchase' } });
    }
    const settings = { 'event.purchase': 'Donate', 'field.plan': 'orderId' };
    const { body: changed } = await preview(operator, { sample: true, settings });
    expect(changed).toMatchObject({
      status: 'sent',
      payload: { event_name: 'Donate', custom_data: { plan: 'ORD-1' } },
    });
    const { body: unselected } = await preview(operator, { sample: true, settings: { events: 'lead' } });
    expect(unselected).toMatchObject({ status: 'skipped', reason: 'event_not_selected' });
    expect(await log.head()).toBe(head);
  });

  it('refuse unknown conversions, connections and settings, and analysts', async () => {
    expect((await preview(operator, { order: 'NONE' })).status).toBe(404);
    expect((await preview(operator, { sample: true }, 'tiktok')).status).toBe(404);
    expect((await preview(operator, { sample: true, settings: { nothing: '1' } })).status).toBe(422);
    for (const body of [{}, { sample: true, order: 'A' }, { sample: false }, { conversion: 'x' }])
      expect((await preview(operator, body)).status).toBe(400);
    expect((await preview(analyst, { sample: true })).status).toBe(403);
  });
});

describe('conversions in the management API', () => {
  it('are shown with match, consent and each delivery with attempts, payload and answer', async () => {
    const id = await store('ORD-CHAIN', [FAILED, { status: 'delivered', httpStatus: 200 }]);
    const { status, body } = await operator(`/sites/${SITE}/conversions/${id}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      masked: false,
      conversion: { conversionId: id, status: 'received', orderId: 'ORD-CHAIN', matched: true },
      match: { ip: '192.0.2.1', clicks: { fbclid: { id: 'sample-fbclid' } } },
      consent: 'granted',
      deliveries: [
        {
          platform: 'meta',
          status: 'delivered',
          attempts: [{ status: 'failed', response: '{"error":"x"}' }, { status: 'delivered' }],
          payload: { user_data: { client_ip_address: '192.0.2.1' }, event_id: 'ORD-CHAIN' },
          payloadIsExact: true,
        },
      ],
      events: [{ type: 'conversion.received.v1', personal: { externalId: 'customer-1' } }, {}, {}],
    });
  });

  it('have no personal values for analysts and tokens that only read', async () => {
    const id = await store('ORD-MASKED', [{ status: 'delivered', httpStatus: 200 }]);
    const { body: created } = await operator('/tokens', { method: 'POST', body: { name: 'BI', scopes: ['read'] } });
    const token = admin.withHeaders({ authorization: `Bearer ${created.token}` });
    for (const reader of [analyst, token]) {
      const { status, body } = await reader(`/sites/${SITE}/conversions/${id}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        masked: true,
        match: { ip: '•••', clicks: { fbclid: { id: '•••', timeMs: expect.any(Number) } } },
        deliveries: [{ payload: { user_data: { client_ip_address: '•••' }, event_id: 'ORD-MASKED' } }],
      });
      expect(JSON.stringify(body)).not.toMatch(/192\.0\.2\.1|sample-|customer-1|"personal"/);
    }
  });

  it('of another site do not exist', async () => {
    await operator('/sites', { method: 'POST', body: { host: 'elsewhere.example' } });
    const id = await store('ORD-OTHER', []);
    expect((await operator(`/sites/elsewhere.example/conversions/${id}`)).status).toBe(404);
    expect((await operator(`/sites/elsewhere.example/conversions?order=ORD-OTHER`)).body.items).toEqual([]);
    expect((await operator(`/sites/${SITE}/conversions/not-an-id`)).status).toBe(400);
  });

  it('are listed newest first, by order and by status', async () => {
    const ids = [await store('ORD-LIST', []), await store('ORD-LIST', [])];
    const { body: ofOrder } = await analyst(`/sites/${SITE}/conversions?order=ORD-LIST`);
    expect(ofOrder.items.map(({ conversionId }: { conversionId: string }) => conversionId)).toEqual(ids.toReversed());
    const { body: newest } = await analyst(`/sites/${SITE}/conversions?status=received&limit=1`);
    expect(newest.items).toMatchObject([{ conversionId: ids[1], status: 'received', orderId: 'ORD-LIST' }]);
    const { body: following } = await analyst(`/sites/${SITE}/conversions?limit=1&cursor=${newest.next}`);
    expect(following.items).toMatchObject([{ conversionId: ids[0] }]);
    expect((await analyst(`/sites/${SITE}/conversions?order=ORD-LIST&status=filtered`)).body.items).toEqual([]);
  });
});

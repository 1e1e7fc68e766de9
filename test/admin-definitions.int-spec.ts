import { useAdmin } from './support/admin.js';

const DEFINITION = `name: crm
label: Own CRM
settings:
  key: { required: true, secret: true, help: Your key. }
url: https://api.crm.example/events
authentication: { type: bearer, secret: key }
body: { id: /event_id }
`;

const { signedIn } = await useAdmin();

it('defines platforms with the management API, which are listed, shown and connected', async () => {
  const boss = await signedIn('admin');
  const analyst = await signedIn('analyst');
  const define = (definition: string, as = boss) => as('/definitions', { method: 'PUT', body: { definition } });
  expect(await define(DEFINITION, analyst)).toMatchObject({ status: 403 });
  expect(await define(DEFINITION.replace('/event_id', '/eventId'))).toMatchObject({
    status: 422,
    body: { detail: expect.stringContaining('definition:7: body.id: /eventId is no value of a conversion') },
  });
  const defined = await define(DEFINITION);
  expect(defined).toMatchObject({ status: 200, body: { name: 'crm', version: 1, connections: 0, kept: [] } });
  expect((await define(DEFINITION)).body).toEqual(defined.body);

  const { body: list } = await analyst('/definitions');
  expect(list.items).toEqual([
    {
      ...{ name: 'crm', label: 'Own CRM', version: 1, digest: defined.body.digest, definedAt: expect.any(String) },
      fields: [{ name: 'key', secret: true, required: true, help: 'Your key.' }],
    },
  ]);
  expect(await analyst('/definitions/crm')).toMatchObject({ status: 403 });
  const { body: crm } = await boss('/definitions/crm');
  expect((await define(JSON.stringify(crm.definition))).body).toEqual(defined.body);
  expect(await boss('/definitions/other')).toMatchObject({ status: 404 });

  await boss('/sites', { method: 'POST', body: { host: 'shop.example' } });
  const connect = { method: 'PUT', body: { settings: { key: 'key' } } };
  expect(await boss('/sites/shop.example/connections/crm', connect)).toMatchObject({
    status: 200,
    body: { platform: 'crm', connected: true, settings: { definition: defined.body.digest } },
  });
  expect((await define(DEFINITION.replace('/events', '/v2'))).body).toMatchObject({ version: 2, connections: 1 });
});

import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { PASSWORD, useAdmin } from './support/admin.js';
import { storeConversion } from './support/stored-conversion.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const META = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };
/** With times in the past of any clock. */
const DOCUMENT = readFileSync(new URL('../docs/api.md', import.meta.url), 'utf8').replaceAll('2026-', '2020-');
const METHOD = /^(GET|POST|PUT|PATCH|DELETE) (\S+)$/;

interface Example {
  readonly path: string;
  readonly init: { readonly method: string; readonly headers: Record<string, string>; readonly body?: string };
  /** What the document shows below the request. */
  readonly shown: string;
}

const admin = await useAdmin();
const { log } = admin;
const operator = await admin.signedIn('operator');
const { body: openApi } = await admin.anonymous('/openapi.json');
/** What the placeholders of the document stand for. */
const values: Record<string, string> = { '<12 characters or more>': PASSWORD, '"…"': '"example"' };

beforeAll(async () => {
  await operator.post('/sites', { host: SITE });
  await operator.put(`/sites/${SITE}/connections/meta`, { settings: META });
  await store('ORD-1', 'failed');
  await store('ORD-2', 'failed');
  await store('ORD-3', 'failed', 'delivered');
  const { id } = await admin.addUser('admin');
  values['<what follows # in the link>'] = (await admin.users.reset(id)).secret;
});

function store(orderId: string, ...statuses: ('failed' | 'delivered')[]): Promise<string> {
  const outcomes = statuses.map((status) => ({ status }));
  return storeConversion(log, { site: SITE, orderId, settings: META, outcomes });
}

/** A schema of the document, also behind a reference. */
function resolved(schema: { $ref?: string } = {}): object {
  return schema.$ref === undefined ? schema : openApi.components.schemas[schema.$ref.split('/').at(-1) as string];
}

describe('docs/api.md', () => {
  it('has requests that are answered as shown', async () => {
    const examples = blocksOf('text').flatMap(requestsOf);
    expect(examples.map(({ init, path }) => `${init.method} ${path}`)).toEqual([
      'POST /session/password',
      'POST /tokens',
      'GET /sites',
      `POST /sites/${SITE}/deliveries/retry`,
      `GET /events?site=${SITE}`,
      'PUT /oauth-apps/google_ads',
    ]);
    let cookie = '';
    for (const { path, init, shown } of examples) {
      const headers = Object.entries(init.headers).map(([name, value]) => [
        name,
        name === 'cookie' ? cookie : fill(value),
      ]);
      const reply = await fetch(`${admin.url}/api/v1${path}`, {
        method: init.method,
        headers: Object.fromEntries(headers),
        ...(init.body !== undefined && { body: fill(init.body) }),
      });
      const text = path.startsWith('/events') ? await firstMessage(reply) : await reply.text();
      expect([path, reply.ok, reply.ok || text]).toEqual([path, true, true]);
      cookie = reply.headers.get('set-cookie')?.split(';', 1)[0] ?? cookie;
      if (path === '/tokens') values['cct_…'] = JSON.parse(text).token;
      if (shown !== '') expectShape(text, shown);
    }
  });

  it('names only routes that exist', () => {
    const routes = Object.entries(openApi.paths as Record<string, object>).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace('/api/v1', '')}`),
    );
    const known = routes.map((route) => route.replaceAll(/\{\w+\}/g, '{}'));
    const named = codeSpans()
      .filter((span) => METHOD.test(span) && !span.includes('…'))
      .map((span) => span.replaceAll(/\{\w+\}|<\w+>/g, '{}'));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((route) => !known.includes(route))).toEqual([]);
  });

  it('names every list without a cursor', () => {
    const isList = ({ responses, parameters = [] }: { responses: object; parameters?: { name: string }[] }) => {
      const { content } = (responses as Record<string, { content?: Record<string, { schema: object }> }>)['200'] ?? {};
      const { properties = {} } = resolved(content?.['application/json']?.schema) as { properties?: object };
      return 'items' in properties && !parameters.some(({ name }) => name === 'cursor');
    };
    const lists = Object.entries(openApi.paths as Record<string, { get?: never }>)
      .filter(([, { get }]) => get && isList(get))
      .map(([path]) => `GET ${path.replace('/api/v1', '')}`);
    const [, text = ''] = /These lists have no cursor(.*?)\n- /s.exec(DOCUMENT) ?? [];
    expect([...text.matchAll(/`(GET [^`]+)`/g)].map(([, route]) => route).sort()).toEqual(lists.sort());
  });

  it('has bodies of jobs that are accepted', async () => {
    const bodies = codeSpans().filter((span) => span.startsWith('{"kind":'));
    expect(bodies).toHaveLength(5);
    for (const body of bodies) {
      const started = await operator.post(`/sites/${SITE}/jobs`, fill(body));
      expect([body, started.status, started.body]).toEqual([body, 202, expect.anything()]);
      const { id } = started.body;
      const job = async () => (await operator(`/jobs/${id}`)).body;
      const ended = await eventually(job, ({ state }) => state !== 'queued' && state !== 'running');
      expect(ended).toMatchObject({ state: 'succeeded' });
      values['<id of that job>'] = id;
    }
  });

  it('has bodies of previews, rotations and erasures that are accepted', async () => {
    const conversion = await store('ORD-4');
    values['<id>'] = conversion;
    const preview = bodiesAfter('connections/<connection>/preview');
    expect(preview).toHaveLength(3);
    for (const body of preview)
      expect(await post(`connections/meta/preview`, body)).toMatchObject({ status: 200, body: { status: 'sent' } });
    const { body: key } = await post('keys', '{"name":"Shop"}');
    const [rotation] = bodiesAfter('keys/<id>/rotate') as [string];
    expect(await post(`keys/${key.id}/rotate`, rotation)).toMatchObject({ status: 201 });
    const [erasure] = bodiesAfter('sites/<host>/erasures') as [string];
    expect(await post('erasures', erasure.replace('"…"', '"jane@example.com"'))).toMatchObject({ status: 200 });
  });

  it('shows what an account has as the route answers it', () => {
    const [shown] = blocksOf('json') as [string];
    const path = '/api/v1/sites/{site}/connections/{connection}/options';
    const { schema } = openApi.paths[path].get.responses[200].content['application/json'];
    const ajv = new Ajv({ strict: false, allErrors: true });
    const check = ajv.compile({ ...schema, components: openApi.components });
    expect([check(JSON.parse(shown)), check.errors]).toEqual([true, null]);
  });
});

function post(path: string, body: string) {
  return operator.post(`/sites/${SITE}/${path}`, fill(body));
}

/** The first message of a stream that is about a conversion. One is stored after the stream has begun. */
async function firstMessage(reply: Response): Promise<string> {
  await store('ORD-LIVE');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const [message] = /^id: \d+\ndata: .*conversion\.received.*$/m.exec(text) ?? [];
    if (message !== undefined) return message;
  }
  throw new Error(`The stream ended: ${text}`);
}

// --- Reading the document

function blocksOf(language: string): string[] {
  const fences = DOCUMENT.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  return [...fences].filter(([, named]) => named === language).map(([, , text]) => text as string);
}

function codeSpans(): string[] {
  return [...DOCUMENT.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, inner]) => inner as string);
}

/** The code spans with a JSON object in the paragraph of a route. */
function bodiesAfter(route: string): string[] {
  const paragraph = DOCUMENT.split('\n\n').find((text) => text.includes(route)) as string;
  return [...paragraph.matchAll(/`(\{"[^`]+\})`/g)]
    .map(([, body]) => body as string)
    .filter((body) => !body.startsWith('{"field.'));
}

/** The curl commands of a block, each with what follows it. */
function requestsOf(block: string): Example[] {
  const parts = block.replaceAll(/ \\\n */g, ' ').split(/^(?=curl )/m);
  return parts
    .filter((part) => part.startsWith('curl '))
    .map((part) => {
      const [command = '', ...shown] = part.trimEnd().split('\n');
      const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? (plain as string));
      return { ...readCommand(words.slice(1)), shown: shown.join('\n') };
    });
}

function readCommand(words: readonly string[]): Omit<Example, 'shown'> {
  const headers: Record<string, string> = {};
  let [method, url, body]: (string | undefined)[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as string;
    const value = () => words[++index] as string;
    if (word === '-X') method = value();
    else if (word === '-d') body = value();
    else if (word === '-b') headers['cookie'] = value();
    else if (word === '-c') value();
    else if (word === '-H') {
      const [name = '', ...rest] = value().split(': ');
      headers[name] = rest.join(': ');
    } else if (word !== '-N') url = word;
  }
  const path = (url as string).replace('http://localhost:8081/api/v1', '');
  return { path, init: { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, ...(body && { body }) } };
}

function fill(text: string): string {
  return Object.entries(values).reduce((filled, [placeholder, value]) => filled.replaceAll(placeholder, value), text);
}

/** Compares names and types. With `…` the document shows only a part of an object. */
function expectShape(answer: string, shown: string): void {
  const messageOf = (text: string) => text.replace(/^id: \d+\ndata: /, '');
  const actual = shapeOf(JSON.parse(messageOf(answer)));
  const expected = shapeOf(JSON.parse(messageOf(shown).replace(',…}', '}')));
  if (shown.includes(',…}')) expect(actual).toMatchObject(expected as object);
  else expect(actual).toEqual(expected);
}

function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
}

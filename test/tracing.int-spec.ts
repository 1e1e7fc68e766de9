import { type AddressInfo, createServer, type Socket } from 'node:net';
import { captureLog } from './support/captured-log.js';
import { createDatabase } from './support/databases.js';
import {
  conversionId,
  metrics,
  openOperator,
  openSocket,
  post,
  rawPost,
  send,
  startTestService,
  type TestService,
} from './support/service.js';
import { eventually } from './support/waiting.js';
import { startReceiver } from './support/webhook-receiver.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
/** Not sampled by the sender. */
const TRACEPARENT = `00-${TRACE}-${PARENT}-00`;
const EMAIL = 'ada.lovelace@example.com';

interface ExportedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: number } }[];
}

const databaseUrl = await createDatabase();
const operator = await openOperator(databaseUrl);
/** Receivers of the site, of an ad platform, and of traces. */
const [receiver, platform, collector] = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
platform.answer = (_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"events_received":1}');
};
const site = await operator.openSite();
await operator.connect(site.host, 'webhook', { url: `${receiver.url}/hook`, traceparent: 'yes' });
await operator.connect(site.host, 'meta', { pixel_id: '1234567890', access_token: 'secret-token' }, platform.url);
let orders = 0;

afterAll(async () => {
  await operator.close();
  await Promise.all([receiver, platform, collector].map((each) => each.stop()));
});
beforeEach(() => {
  for (const each of [receiver, platform, collector]) each.calls.length = 0;
});

const start = (environment: Record<string, string> = {}) =>
  startTestService(databaseUrl, { OUTBOUND_ALLOW_PRIVATE: 'true', SHUTDOWN_GRACE: '5s', ...environment });
const withCollector = (endpoint = collector.url) => start({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
const conversion = () => ({
  email: EMAIL,
  phone: '+49 170 1234567',
  event: 'purchase',
  value: 1,
  orderId: `ORD-${++orders}`,
});
const traced = (service: TestService, traceparent = TRACEPARENT) =>
  post(service, site, conversion(), { headers: { traceparent } });
const stored = async (reply: Awaited<ReturnType<typeof post>>) =>
  (await operator.conversion(conversionId(reply)))?.personal as { traceparent?: string };

/** What the collector has received. A service sends the rest when it stops. */
function exportedSpans(): ExportedSpan[] {
  type Request = { resourceSpans: { scopeSpans: { spans: ExportedSpan[] }[] }[] };
  return collector
    .callsTo('/v1/traces')
    .flatMap(({ body }) => (JSON.parse(body) as Request).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}
const attribute = ({ attributes }: ExportedSpan, name: string) =>
  attributes.map(({ key, value }) => (key === name ? (value.stringValue ?? value.intValue) : undefined)).find(Boolean);

describe('the service with a trace collector', () => {
  it("exports request, append and deliveries in the sender's trace, also if the sender does not sample it", async () => {
    const service = await withCollector();
    const reply = await traced(service);
    expect(reply.status).toBe(200);
    await service.stop();
    const spans = exportedSpans();
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const named = (name: string) => spans.find((span) => span.name === name) as ExportedSpan;
    const request = named('POST /__cc/inbound');
    expect(request.parentSpanId).toBe(PARENT);
    expect([attribute(request, 'cc.outcome'), attribute(request, 'http.response.status_code')]).toEqual([
      'received',
      200,
    ]);
    for (const name of ['append', 'deliver webhook', 'deliver meta'])
      expect([name, named(name)?.parentSpanId]).toEqual([name, request.spanId]);
    expect(attribute(named('deliver webhook'), 'cc.status')).toBe('delivered');
    expect(attribute(named('deliver webhook'), 'cc.conversion_id')).toBe(conversionId(reply));
    // The receiver of the site continues the trace.
    const [message] = receiver.calls;
    expect(message?.headers['traceparent']).toBe(`00-${TRACE}-${named('deliver webhook').spanId}-01`);
  });

  it('sends no trace to ad platforms, and no personal data or secret to the collector', async () => {
    const service = await withCollector();
    await traced(service);
    await service.stop();
    expect(platform.calls.length).toBeGreaterThan(0);
    expect(JSON.stringify(platform.calls)).not.toMatch(new RegExp(`traceparent|${TRACE}`));
    const exported = JSON.stringify(collector.calls);
    expect(exported).toContain('deliver meta');
    for (const secret of [EMAIL, '1234567', 'secret-token', site.key, /[0-9a-f]{64}/.source])
      expect(exported).not.toMatch(new RegExp(secret));
  });

  it('starts a trace of its own where the sender has none, and stores none', async () => {
    const service = await withCollector();
    const reply = await post(service, site, conversion());
    await service.stop();
    const request = exportedSpans().find(({ name }) => name === 'POST /__cc/inbound') as ExportedSpan;
    expect(request.parentSpanId ?? '').toBe('');
    expect(request.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(await stored(reply)).not.toHaveProperty('traceparent');
  });

  it('records no span for callers without a valid key', async () => {
    const service = await withCollector();
    const reply = await post(service, { ...site, key: 'cc_wrong' }, conversion(), {
      headers: { traceparent: TRACEPARENT },
    });
    expect(reply.status).toBe(401);
    await service.stop();
    expect(exportedSpans()).toEqual([]);
  });

  it('answers as usual and stops in time while the collector is down', async () => {
    const service = await withCollector('http://127.0.0.1:1');
    for (let count = 0; count < 20; count += 1) expect((await traced(service)).status).toBe(200);
    await service.stop();
  });

  it('counts and logs the spans that the collector refuses', async () => {
    const refusing = await startReceiver();
    refusing.answer = (_, response) => void response.writeHead(400).end();
    const service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: refusing.url, LOG_LEVEL: 'warn' });
    const dropped = async () => (await metrics(service)).get('cc_trace_spans_dropped_total');
    expect(await dropped()).toBe(0);
    const log = captureLog();
    try {
      await traced(service);
      await eventually(dropped, (count) => (count ?? 0) > 0);
    } finally {
      await service.stop();
      log.stop();
      await refusing.stop();
    }
    expect(log.text()).toMatch(/"dropped":[1-9]\d*,"msg":"Spans were dropped: /);
  });

  it('answers as usual and stops in time while the collector hangs', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on('error', () => {})));
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
    const service = await withCollector(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    for (let count = 0; count < 20; count += 1) expect((await traced(service)).status).toBe(200);
    await service.stop();
    expect(sockets.size).toBeGreaterThan(0);
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => silent.close(closed));
  });
});

describe('the service without a trace collector', () => {
  let service: TestService;

  it('documents the trace header that it reads', async () => {
    const { paths } = JSON.parse((await send(service, { path: '/docs/openapi.json' })).body);
    for (const path of ['/__cc/inbound', '/__cc/inbound/batch'])
      expect(paths[path].post.parameters).toContainEqual(
        expect.objectContaining({ in: 'header', name: 'traceparent' }),
      );
  });

  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  it("keeps the sender's trace in the log, and passes it to the receiver of the site", async () => {
    const body = conversion();
    const reply = await post(service, site, body, { headers: { traceparent: TRACEPARENT } });
    expect(await stored(reply)).toMatchObject({ traceparent: TRACEPARENT });
    expect(receiver.calls[0]?.headers['traceparent']).toBe(TRACEPARENT);
    expect(JSON.stringify(platform.calls)).not.toContain(TRACE);
    const duplicate = await post(service, site, body, { headers: { traceparent: TRACEPARENT } });
    expect(JSON.parse(duplicate.body)).toEqual({ ok: true, deduped: true });
    const event = await operator.conversion(conversionId(duplicate));
    expect(event).toMatchObject({ data: { differs: [] }, personal: { traceparent: TRACEPARENT } });
    // A trace may begin in a person's browser: outside of the personal part an erasure would leave it.
    expect(event?.data).not.toHaveProperty('traceparent');
  });

  it('keeps the trace of the sender for each conversion of a batch', async () => {
    const options = { path: '/__cc/inbound/batch', headers: { traceparent: TRACEPARENT } };
    const reply = await post(service, site, [conversion(), conversion()], options);
    const { results } = JSON.parse(reply.body) as { results: { conversionId: string }[] };
    for (const { conversionId } of results)
      expect((await operator.conversion(conversionId))?.personal).toMatchObject({ traceparent: TRACEPARENT });
    await eventually(() => receiver.calls.length, 2);
    expect(receiver.calls.map(({ headers }) => headers['traceparent'])).toEqual([TRACEPARENT, TRACEPARENT]);
  });

  it.each([
    ['malformed', 'not a trace'],
    ['of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['huge', `00-${'a'.repeat(10_000)}`],
  ])('ignores a trace header that is %s', async (_, traceparent) => {
    const reply = await traced(service, traceparent);
    expect(reply.status).toBe(200);
    expect(await stored(reply)).not.toHaveProperty('traceparent');
    expect(receiver.calls[0]?.headers).not.toHaveProperty('traceparent');
  });

  it('ignores a repeated trace header', async () => {
    const request = rawPost(site, JSON.stringify(conversion()), { traceparent: TRACEPARENT, Traceparent: TRACEPARENT });
    const socket = await openSocket(service);
    socket.write(request);
    const answer = await socket.until(/\r\n\r\n\{.*\}/s);
    const [, id] = /x-cc-conversion-id: (\S+)/i.exec(answer) as unknown as [string, string];
    expect((await operator.conversion(id))?.personal).not.toHaveProperty('traceparent');
    socket.socket.destroy();
  });

  it('does not pass the trace on unless the connection is set so', async () => {
    await operator.connect(site.host, 'webhook', { traceparent: 'no' });
    await service.refreshSites();
    expect((await traced(service)).status).toBe(200);
    expect(receiver.calls).toHaveLength(1);
    expect(receiver.calls[0]?.headers).not.toHaveProperty('traceparent');
    await operator.connect(site.host, 'webhook', { traceparent: 'yes' });
  });
});

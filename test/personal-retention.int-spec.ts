import { isDeepStrictEqual } from 'node:util';
import { retention } from '../src/app/doctor/retention-check.js';
import { subjectOf } from '../src/kernel/email.js';
import { dropExpiredPartitions } from '../src/log/retention/retention.js';
import { PauseConnection, ResumeConnection } from '../src/sites/connections/connection.commands.js';
import { StateConsent } from '../src/visitors/change-consent.command.js';
import { StateConsentHandler } from '../src/visitors/change-consent.handler.js';
import { EMAIL, openRetainedService } from './support/retained-service.js';
import { conversionId } from './support/service.js';
import { callTag } from './support/tag-calls.js';
import { startReceiver } from './support/webhook-receiver.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const receiver = await startReceiver();
const { clock, operator, service, site, buy, personal, retained, failedChecks, stop } = await openRetainedService(
  receiver,
  { PERSONAL_RETENTION: '1h' },
);
afterAll(async () => {
  await stop();
  await receiver.stop();
});

const retainedTo = (types: readonly string[]) => retained(personal, (found) => isDeepStrictEqual(found, types));
const count = async (table: string) => (await operator.postgres.pool.query(`SELECT FROM cc.${table}`)).rowCount;

describe('PERSONAL_RETENTION', () => {
  it('removes what is older, keeps opt-outs and what counts, and the log accounts for it', async () => {
    const optOut = new StateConsent('cli', site.host, subjectOf('john@example.com'), 'denied');
    await new StateConsentHandler(operator.log).execute(optOut);
    const clicks = { gclid: { id: 'click-of-jane', t: Date.now() } };
    expect((await callTag(service, site, 'identify', { hash: subjectOf(EMAIL), clicks })).status).toBe(204);
    await buy('A');
    await clock.advance(50 * MINUTE_MS);
    await buy('B');
    expect(await count('identifiers')).toBeGreaterThan(0);
    await clock.advance(11 * MINUTE_MS);
    await retainedTo(['conversion.received.v1', 'visitor.consent_changed.v1']);
    expect([await count('identifiers'), await count('consent')]).toEqual([0, 1]);
    const erasures = (await operator.log.read()).flatMap(({ type, data }) =>
      type === 'visitor.erased.v1' ? [data] : [],
    );
    expect(erasures).toContainEqual({ events: expect.any(Number), identifiers: 0, claims: 0, expired: true });
    expect(await failedChecks()).toEqual([]);
    // The order is still known.
    await buy('A');
    expect((await operator.conversions(site.host)).at(-1)?.type).toBe('conversion.deduplicated.v1');
  });

  it('forgets what a conversion without an order is recognised by, as if the person were erased', async () => {
    const claims = await count('dedup');
    await buy(undefined);
    expect((await buy(undefined)).body).toContain('"deduped":true');
    expect(await count('dedup')).toBe((claims ?? 0) + 1);
    await clock.advance(61 * MINUTE_MS);
    await retainedTo(['visitor.consent_changed.v1']);
    expect(await count('dedup')).toBe(claims);
    expect(await failedChecks()).toEqual([]);
    const erased = (await operator.log.read())
      .filter(({ type }) => type === 'visitor.erased.v1')
      .map(({ data }) => data);
    expect(erased).toContainEqual(expect.objectContaining({ claims: 1, expired: true }));
    expect((await buy(undefined)).body).not.toContain('deduped');
  });

  it('waits for deliveries that are queued, and says so', async () => {
    await clock.advance(120 * MINUTE_MS);
    await retainedTo(['visitor.consent_changed.v1']);
    await operator.execute(new PauseConnection('cli', site.host, 'meta'));
    await service.refreshSites();
    const id = conversionId(await buy('C'));
    await clock.advance(120 * MINUTE_MS);
    await buy('D');
    await service.retain();
    const kept = ['conversion.received.v1', 'conversion.received.v1', 'visitor.consent_changed.v1'];
    expect(await personal()).toEqual(kept);
    const finding = await retention(service.services);
    expect(finding).toMatchObject({ ok: false, fix: expect.stringContaining('unsettled deliveries to meta') });
    expect(finding.detail).toMatch(/personal parts older than 1h are removed, the oldest is of 20.*Z; /);
    await operator.execute(new ResumeConnection('cli', site.host, 'meta'));
    await service.refreshSites();
    await retainedTo(kept.slice(1));
    expect((await operator.conversion(id))?.type).toBe('conversion.received.v1');
    expect(receiver.calls.filter(({ body }) => body.includes('"C"'))).toHaveLength(1);
    expect(await retention(service.services)).toMatchObject({ ok: true });
    expect(await failedChecks()).toEqual([]);
  });

  it('leaves an old partition open as long as the next one does not exist', async () => {
    const owner = await operator.postgres.connectAsOwner('test');
    const onMessage = () => {};
    const options = { olderThanMs: DAY_MS, holds: [], sign: async () => '', onMessage };
    const drop = () => dropExpiredPartitions(operator.postgres, options);
    try {
      await clock.advance(2 * DAY_MS);
      await owner.query('UPDATE cc.log_partitions SET first = first + 1 WHERE first > 0');
      await drop();
      expect((await buy('E')).status).toBe(200);
      await owner.query('UPDATE cc.log_partitions SET first = first - 1 WHERE first > 1');
      const before = await operator.log.head();
      await drop();
      await buy('F');
      expect(await operator.log.head()).toBeGreaterThan(before + 1_000_000);
    } finally {
      await owner.end();
    }
  });
});

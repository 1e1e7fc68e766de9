import { type Outcome } from '../events/delivery.events.js';
import type { Platform, PlatformResponse, Verdict } from '../platforms/platform.js';
import type { LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import type { AccessTokens } from './access-tokens.js';
import { Courier, type Errand } from './courier.js';
import type { ReceivedConversion } from './received.js';

const HOUR_MS = 3_600_000;

describe('Courier', () => {
  let verdict: Verdict;
  let sent: string[];
  let faults: unknown[];
  let payload: Platform['payload'];
  let platform: Platform;
  let site: { settings: { withhold: string }; host: string };
  let connections: Map<string, object>;
  let courier: Courier;

  beforeEach(() => {
    verdict = { kind: 'delivered', requestId: 'r1' };
    sent = [];
    faults = [];
    payload = (_, settings) => ({ item: { pixel: settings['pixel_id'] } });
    platform = {
      name: 'meta',
      batchMax: 10,
      dedupWindowMs: 48 * HOUR_MS,
      payload: (...told: Parameters<Platform['payload']>) => payload(...told),
      request: (items: readonly string[]) => {
        sent.push(...items);
        return { method: 'POST', url: 'https://platform.example', headers: {} };
      },
      verdict: () => verdict,
    } as unknown as Platform;
    site = { settings: { withhold: 'identifiers' }, host: 'shop.example' };
    const versions = [
      { position: 1, settings: { pixel_id: 'first' } },
      { position: 8, settings: { pixel_id: 'second' } },
    ];
    connections = new Map([
      ['meta', { connection: { state: 'active', settings: {}, versions }, secrets: {}, missingSecrets: [] }],
    ]);
    courier = new Courier(
      { find: () => ({ site, connections }) as unknown as LoadedSite } as unknown as SiteDirectory,
      { get: async () => undefined } as unknown as AccessTokens,
      {
        platform: () => platform,
        send: async () => ({ status: 200, headers: {}, text: '', json: {} }) satisfies PlatformResponse,
        park: async () => {},
        pause: async () => {},
        resume: async () => {},
        fault: (error) => faults.push(error),
        count: () => {},
      },
      { scheduleMs: [30_000], giveUpMs: 168 * HOUR_MS, confirmationPollMs: 1_800_000 },
    );
  });

  const carry = (errand: Partial<Errand> = {}, received: object = {}, data: object = {}) =>
    new Promise<Outcome | undefined>((resolve) =>
      courier.carry(
        {
          received: {
            ...{ site: 'shop.example', position: 5, time: new Date().toISOString(), personal: { subject: 's' } },
            data: { conversionId: 'c1', event: 'purchase', currency: 'EUR', trial: false, settings: 5, ...data },
            ...received,
          } as unknown as ReceivedConversion,
          platform: 'meta',
          attempt: 1,
          mayGo: () => true,
          ...errand,
        },
        resolve,
      ),
    );
  const ago = (hours: number) => ({ time: new Date(Date.now() - hours * HOUR_MS).toISOString() });

  it('sends a conversion as it was to be spelled when it came in, or when an operator asked', async () => {
    const outcome = await carry();
    expect(outcome).toMatchObject({ conversionId: 'c1', platform: 'meta', attempt: 1, status: 'delivered' });
    await carry({ settings: 9, eventId: 'e2' });
    expect(sent).toEqual(['{"pixel":"first"}', '{"pixel":"second"}']);
  });

  it.each<[string, object, object, Partial<Errand>, object]>([
    ['of somebody who was erased', { personal: null }, {}, {}, { status: 'failed', reason: 'erased' }],
    ['that is too old', ago(48), {}, {}, { status: 'skipped', reason: 'too_old' }],
    ['that was tried for too long', ago(47.1), {}, { attempt: 2 }, { status: 'failed', reason: 'gave_up' }],
    ['that would be spelled otherwise', {}, {}, { bodySha256: 'x' }, { status: 'failed', reason: 'body_changed' }],
    ['of a trial key', {}, { trial: true }, {}, { status: 'validated', bodySha256: expect.any(String) }],
  ])('sends none %s', async (_, received, data, errand, outcome) => {
    expect(await carry(errand, received, data)).toMatchObject(outcome);
    expect(sent).toEqual([]);
  });

  it('sends none where nothing is connected any more, nor against a wish where the site heeds it', async () => {
    site.settings.withhold = 'everything';
    expect(await carry({}, {}, { consent: 'denied', withheld: 'opted_out' })).toMatchObject({
      status: 'skipped',
      reason: 'consent_denied',
    });
    connections.clear();
    expect(await carry()).toMatchObject({ status: 'failed', reason: 'disconnected' });
    expect(sent).toEqual([]);
  });

  it('keeps what cannot be spelled because of a mistake of our own', async () => {
    payload = () => {
      throw new TypeError('cannot read x of undefined');
    };
    const outcome = await carry({ attempt: 2, bodySha256: 'b' });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', bodySha256: 'b' });
    expect(Date.parse(outcome?.nextTry as string)).toBeGreaterThan(Date.now());
    expect(faults).toEqual([expect.any(TypeError)]);
  });

  it('tells when the next try is, and that it goes alone where this one did', async () => {
    verdict = { kind: 'retry', reason: 'server_error', afterMs: HOUR_MS };
    const outcome = await carry({ alone: true });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', alone: true });
    expect(Math.abs(Date.parse(outcome?.nextTry as string) - Date.now() - HOUR_MS)).toBeLessThan(1_000);
    verdict = { kind: 'retry', reason: 'server_error' };
    const late = await carry({ attempt: 2 }, ago(46.9995));
    expect(late).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });

  it('says nothing of what it may not send', async () => {
    expect(await carry({ mayGo: () => false })).toBeUndefined();
  });
});

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { partsOf } from '../../src/delivery/payload/payload.js';
import type { Conversion } from '../../src/platforms/conversion.js';
import type { ClickKind } from '../../src/platforms/manifests.js';
import type { Connection, Platform, PlatformRequest, Settings } from '../../src/platforms/platform.js';
import { answer, itRetriesUnreadable200 } from './platform-answers.js';
import { NAME_FORMS, type NamedConversion, sentItem } from './platform-payloads.js';
import { ANONYMOUS, customSettingsOf, presetsOf, SAMPLE_CONVERSIONS, sentTo } from './sample-conversions.js';

const NOW_MS = Date.parse('2026-03-01T10:15:31Z');
const MODE_SAMPLES = Object.fromEntries(
  (
    [
      ...([
        'with-click-id',
        'hashed-only',
        'consent-denied',
        'with-details',
        'in-store',
        'from-app',
        'from-crm',
      ] as const),
      ...(['server-only', 'hashed-fields', 'without-email', 'stated-consent', 'personalization-denied'] as const),
    ] as const
  ).map((name): [string, Conversion] => [name, SAMPLE_CONVERSIONS[name]]),
);
const PURCHASE: Conversion = SAMPLE_CONVERSIONS['hashed-only'];

/** The data of one platform for the shared tests. A part that is left out does not apply to it or is tested in its spec. */
export interface PlatformContract {
  readonly connection: Connection;
  /** Other kinds of connections, whose requests are in `fixtures/<name>.json`. */
  readonly modes?: Readonly<Record<string, Connection>>;
  readonly accessToken?: string;
  readonly secretSettings?: readonly string[];
  readonly requiredSettings?: readonly string[];
  readonly payload?: PayloadContract;
  readonly request?: RequestContract;
  readonly testCode?: TestCodeContract;
  /** Settings that map a purchase to several conversion actions or rules; the request is in `fixtures/several-actions.json`. */
  readonly severalActions?: Settings;
  /** The verdict on each answer to a request with one conversion. */
  readonly verdicts?: readonly (readonly [status: number, body: unknown, verdict: object])[];
  /** Bodies that are not a success, although the status is 200. */
  readonly unreadable?: readonly unknown[];
}

interface PayloadContract {
  /** Settings besides those of the connection that must lead to the same skip. */
  readonly otherSettings?: Settings;
  /** Conversions without a sufficient identifier. */
  readonly unidentified?: readonly NamedConversion[];
  /** Conversions that have a sufficient identifier, but no email. */
  readonly identified?: readonly NamedConversion[];
  /** The path of the hashed email, such as `user_data.em`. */
  readonly email?: string;
  /** The user fields that contain names, in the normalised form of this platform. */
  readonly names?: readonly [field: string, value: object];
  /** The path of the event name and a name it is mapped to; whether unmapped events are sent under their own name. */
  readonly eventName?: { readonly path: string; readonly mapped: string; readonly custom: boolean };
  /** Events of ours without a mapping, at platforms that require one. */
  readonly unmappedEvents?: readonly string[];
  /** The platform's name of a purchase, which requires an amount, and another name, which does not. */
  readonly valueRequired?: { readonly purchase: string; readonly other: string };
  /** The field that is left out when it would be empty. */
  readonly customData?: string;
  /** The only click id that the payload contains; null: none. */
  readonly clickId?: ClickKind | null;
}

interface RequestContract {
  /** The body of a request, with `…` in place of the payloads. */
  readonly body?: string;
  /** These settings and this endpoint lead to this URL. */
  readonly endpoint?: readonly [settings: Settings, endpoint: string, url: string];
}

/** For platforms whose test mode requires a test code. */
interface TestCodeContract {
  /** The settings with the code `TEST1`. */
  readonly settings: Settings;
  /** The body of the test request with the payload `{"a":1}`. */
  readonly body: string;
  readonly delivered: object;
  readonly rejected: readonly [status: number, body: object];
}

/** The tests that all platforms share. */
export function describePlatformContract(platform: Platform, contract: PlatformContract): void {
  const { connection, payload, request, testCode, verdicts, unreadable } = contract;
  describe(platform.name, () => {
    describeGoldenFixtures(platform, contract);
    if (contract.severalActions) describeSeveralActions(platform, contract, contract.severalActions);
    describeSettings(platform, contract);
    if (payload) describePayload(platform, connection.settings, payload);
    if (request) describeRequest(platform, connection, request);
    if (testCode) describeTestCode(platform, connection, testCode);
    if (verdicts || unreadable) {
      describe('verdict', () => {
        if (verdicts) {
          it.each(verdicts)('on a %i with %j', (status, body, verdict) => {
            expect(platform.verdict(answer(status, body), 1)).toMatchObject(verdict);
          });
        }
        if (unreadable) itRetriesUnreadable200((response) => platform.verdict(response, 1), ...unreadable);
      });
    }
  });
}

/**
 * Compares the request for every sample conversion with `fixtures/<sample>.json` in the platform's folder. A fixture is
 * reviewed against the platform's documentation when it is added; `UPDATE_FIXTURES=1` overwrites it.
 */
function describeGoldenFixtures(platform: Platform, { connection, accessToken, modes = {} }: PlatformContract): void {
  describe('request matches the fixture', () => {
    it.each(Object.entries(SAMPLE_CONVERSIONS))('%s', (name, conversion) => {
      expectFixture(platform, name, requestFor(platform, conversion, connection, accessToken));
    });

    const presets = presetsOf(platform);
    if (presets) {
      it('all-presets', () => {
        const settings = { ...connection.settings, presets };
        const sample = SAMPLE_CONVERSIONS['server-only'];
        expectFixture(platform, 'all-presets', requestFor(platform, sample, { ...connection, settings }, accessToken));
      });
    }

    const customSettings = customSettingsOf(platform, connection);
    if (Object.keys(customSettings).length > 0) {
      it('custom-fields', () => {
        const settings = { ...connection.settings, ...customSettings };
        const sample = SAMPLE_CONVERSIONS['server-only'];
        const sent = requestFor(platform, sample, { ...connection, settings }, accessToken);
        expectFixture(platform, 'custom-fields', sent);
      });
    }

    if (platform.takesAnonymous?.(connection.settings)) {
      it('anonymous', () => {
        expectFixture(platform, 'anonymous', requestFor(platform, ANONYMOUS, connection, accessToken));
      });
    }

    for (const [name, mode] of Object.entries(modes)) {
      it(name, () => {
        const samples = platform.takesAnonymous?.(mode.settings)
          ? { ...MODE_SAMPLES, anonymous: ANONYMOUS }
          : MODE_SAMPLES;
        const sent = Object.entries(samples).map(([sample, conversion]) => [
          sample,
          requestFor(platform, conversion, mode, accessToken),
        ]);
        expectFixture(platform, name, Object.fromEntries(sent));
      });
    }
  });
}

function describeSeveralActions(platform: Platform, contract: PlatformContract, severalActions: Settings): void {
  const connection = { ...contract.connection, settings: { ...contract.connection.settings, ...severalActions } };

  it('accepts several conversion actions, and sends a conversion to each', () => {
    expect(platform.check?.(connection)).toBeUndefined();
    const sent = requestFor(platform, SAMPLE_CONVERSIONS['with-click-id'], connection, contract.accessToken);
    expectFixture(platform, 'several-actions', sent);
  });

  it('refuses a list with something else than ids', () => {
    const [[name, ids] = ['', '']] = Object.entries(severalActions);
    for (const value of [`${ids},`, `${ids},${ids}`, `${ids}, a b`])
      expect(platform.check?.({ ...connection, settings: { ...connection.settings, [name]: value } })).toContain(name);
  });
}

function requestFor(platform: Platform, conversion: Conversion, connection: Connection, accessToken?: string): object {
  const payload = platform.payload(sentTo(platform, conversion), connection.settings);
  if ('skip' in payload) return payload;
  const { item, group } = payload;
  const items = partsOf(payload)?.map(({ body }) => body) ?? [JSON.stringify(item)];
  return withParsedBody(platform.request(items, { connection, group, accessToken, nowMs: NOW_MS }));
}

function expectFixture(platform: Platform, name: string, sent: object): void {
  const file = fixtureFile(platform, name);
  if (process.env['UPDATE_FIXTURES']) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(sent, null, 2)}\n`);
  }
  expect(sent).toEqual(JSON.parse(readFileSync(file, 'utf8')));
}

function fixtureFile({ name, definition }: Platform, fixture: string): string {
  const folder = definition === undefined ? join(name, 'fixtures') : join('defined/shipped/fixtures', name);
  return join(process.cwd(), 'src/platforms', folder, `${fixture}.json`);
}

function withParsedBody(request: PlatformRequest): object {
  const json = /json/.test(request.headers['content-type'] ?? '');
  return { ...request, ...(json && request.body !== undefined && { body: JSON.parse(request.body) }) };
}

/** `fixtures/settings.json` contains valid and invalid values of the settings. */
function describeSettings(platform: Platform, { secretSettings, requiredSettings }: PlatformContract): void {
  const values = JSON.parse(readFileSync(fixtureFile(platform, 'settings'), 'utf8')) as [string, string, string][];
  const namesOf = (property: 'secret' | 'required') =>
    platform.fields.filter((field) => field[property]).map(({ name }) => name);

  describe('settings', () => {
    for (const [name, valid, invalid] of values)
      it(`${name} accepts ${valid} and refuses ${JSON.stringify(invalid)}`, () => {
        const check = platform.fields.find((field) => field.name === name)?.check;
        expect(check?.(valid)).toBeUndefined();
        expect(check?.(invalid)).toMatch(/^must /);
        // A single character can occur in any message.
        if (invalid.trim().length > 1) expect(check?.(invalid)).not.toContain(invalid);
      });

    if (secretSettings) {
      it('declares which settings are secret or required', () => {
        expect(namesOf('secret')).toEqual(secretSettings);
        if (requiredSettings) expect(namesOf('required')).toEqual(requiredSettings);
      });
    }
  });
}

function describePayload(platform: Platform, settings: Settings, contract: PayloadContract): void {
  const { otherSettings, unidentified, identified, email = '', names, eventName, valueRequired } = contract;
  const { unmappedEvents, customData, clickId } = contract;
  const item = (conversion: Conversion, more: Settings = {}) =>
    sentItem(platform, conversion, { ...settings, ...more });

  describe('payload', () => {
    if (unidentified) {
      it.each(unidentified)('skips a conversion that is identified only by %s', (_, conversion) => {
        expect(platform.payload(conversion, settings)).toEqual({ skip: 'no_identifier' });
        if (otherSettings) expect(platform.payload(conversion, otherSettings)).toEqual({ skip: 'no_identifier' });
      });
    }

    if (identified) {
      it.each(identified)('includes a conversion that is identified by %s', (_, conversion) => {
        expect(item(conversion)).toHaveProperty(email.split('.')[0] as string);
        expect(item(conversion)).not.toHaveProperty(email);
      });
    }

    if (names) {
      it('contains names in the normalised form of the platform', () => {
        const [field, value] = names;
        expect(item({ ...PURCHASE, hashes: { ...PURCHASE.hashes, ...NAME_FORMS } })[field]).toMatchObject(value);
      });
    }

    if (eventName?.custom) {
      it('contains the mapped event name, or a custom event under its own name', () => {
        expect(item(PURCHASE, { 'event.purchase': eventName.mapped })).toHaveProperty(eventName.path, eventName.mapped);
        expect(item({ ...PURCHASE, event: 'constructor' })).toHaveProperty(eventName.path, 'constructor');
      });
    } else if (eventName) {
      it('skips a custom event unless it is mapped', () => {
        const { path, mapped } = eventName;
        expect(platform.payload({ ...PURCHASE, event: 'constructor' }, settings)).toEqual({ skip: 'event_not_mapped' });
        expect(item({ ...PURCHASE, event: 'demo' }, { 'event.demo': mapped })).toHaveProperty(path, mapped);
        expect(item(PURCHASE, { 'event.purchase': mapped })).toHaveProperty(path, mapped);
      });
    }

    if (unmappedEvents) {
      it('skips an event that is not mapped', () => {
        for (const event of unmappedEvents) {
          expect(platform.payload({ ...PURCHASE, event }, settings)).toEqual({ skip: 'event_not_mapped' });
        }
      });
    }

    if (valueRequired) {
      it('skips a purchase without an amount, even if another event is mapped to it', () => {
        const { purchase, other } = valueRequired;
        const withoutValue = { ...PURCHASE, value: undefined };
        const order = { ...withoutValue, event: 'order' };
        expect(platform.payload(withoutValue, {})).toEqual({ skip: 'value_required' });
        expect(platform.payload(order, { 'event.order': purchase })).toEqual({ skip: 'value_required' });
        expect(platform.payload({ ...PURCHASE, value: 0 }, {})).toHaveProperty('item');
        expect(platform.payload(withoutValue, { 'event.purchase': other })).toHaveProperty('item');
      });
    }

    if (customData) {
      it('leaves out empty parts', () => {
        const signup = { ...PURCHASE, event: 'signup', value: undefined, orderId: undefined };
        expect(item(signup)).not.toHaveProperty(customData);
        expect(JSON.stringify(item(PURCHASE))).not.toMatch(/null|""|\[\]|\{\}/);
      });
    }

    if (clickId !== undefined) {
      it('contains no click id of another platform, not even in the page URL', () => {
        const { visit } = SAMPLE_CONVERSIONS['with-click-id'];
        const pageUrl = 'https://shop.example/?gclid=Gclid_AbC-123&email=jane@example.com';
        const sent = JSON.stringify(item({ ...SAMPLE_CONVERSIONS['with-click-id'], visit: { ...visit, pageUrl } }));
        const contained = Object.entries(visit.clicks).filter(([, { id }]) => sent.includes(id));
        expect(contained.map(([kind]) => kind)).toEqual(clickId === null ? [] : [clickId]);
        expect(sent).not.toMatch(/gclid|jane/i);
      });
    }
  });
}

function describeRequest(platform: Platform, connection: Connection, { body, endpoint }: RequestContract): void {
  describe('request', () => {
    if (body) {
      it('contains several payloads byte for byte', () => {
        const items = ['{ "a": 1 }', '{"b":2.50}', '{"c":"é"}'];
        expect(platform.request(items, { connection, nowMs: 0 }).body).toBe(body.replace('…', items.join(',')));
      });
    }

    if (endpoint) {
      it('uses the endpoint and the API version of the connection', () => {
        const [settings, base, url] = endpoint;
        const call = { connection: { ...connection, settings, endpoint: base }, nowMs: 0 };
        expect(platform.request(['{}'], call).url).toBe(url);
      });
    }
  });
}

function describeTestCode(platform: Platform, connection: Connection, contract: TestCodeContract): void {
  const call = { connection: { ...connection, settings: contract.settings }, nowMs: 0 };

  describe('test mode', () => {
    it('never adds the test code to real events', () => {
      expect(platform.request(['{}'], call).body).not.toContain('TEST1');
    });

    it('sends one event with a test code, and none without one', () => {
      const test = platform.test?.('{"a":1}', call);
      expect(test?.request.body).toBe(contract.body);
      expect(test?.sent).toBe(true);
      expect(test?.verdict(answer(200, contract.delivered))).toMatchObject({ kind: 'delivered' });
      expect(test?.verdict(answer(...contract.rejected))).toMatchObject({ kind: 'rejected' });
      const unsent = platform.test?.('{}', { connection, nowMs: 0 });
      expect([unsent?.sent, unsent?.request.method, unsent?.request.body]).toEqual([false, 'GET', undefined]);
    });
  });
}

import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import { redactUrl } from '../../kernel/redact-url.js';
import { shippedNames } from '../../platforms/defined/shipped.js';
import { PLATFORM_NAMES } from '../../platforms/platform.js';
import { buildPayload, type DeliveryPayload } from './payload.js';
import { redactedDelivery } from './redacted-delivery.js';
import { sampleReceived } from './sample-conversion.js';

const NOW_MS = Date.parse('2026-11-17T12:00:00Z');
const ACCESS_TOKEN = 'ya29.obtained+/=token';
const GATEWAY = 'https://gateway.example/t/8f3kQ2-a91Lx';

interface Case {
  readonly name: string;
  readonly platform: (typeof PLATFORM_CASES)[number]['platform'];
  readonly settings: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly endpoint?: string;
}

/** With secrets that have characters that URLs encode, each different. */
const CASES: readonly Case[] = PLATFORM_CASES.map(({ name, platform, connection: { settings, secrets } }) => ({
  name,
  platform,
  settings,
  secrets: Object.fromEntries(Object.keys(secrets).map((secret) => [secret, `s3cr+t/${secret}=&of-${name}`])),
}));
const caseOf = (name: string) => CASES.find((each) => each.name === name) as Case;
const ADDRESS = 'https://hooks.example/T0KENabcDEF/x?key=an-address-key&b=c';
const MORE: readonly Case[] = [
  ...CASES.map((each) => ({ ...each, name: `${each.name} through a gateway`, endpoint: GATEWAY })),
  { ...caseOf('segment'), name: 'segment with a pair', secrets: { write_key: 'the-user:the-password' } },
  {
    ...caseOf('webhook'),
    name: 'webhook with a token in its address',
    settings: { url: redactUrl(ADDRESS) },
    secrets: { url: ADDRESS, secret: 'a-signing-secret' },
  },
  {
    ...caseOf('linkedin'),
    name: 'linkedin with several rules',
    settings: { ...caseOf('linkedin').settings, 'event.purchase': '1001,1002' },
  },
];

function deliver({ platform, settings, secrets, endpoint }: Case) {
  const sample = sampleReceived(NOW_MS);
  const received = { ...sample, data: { ...sample.data, orderId: 'costs $ACCESS_TOKEN' } };
  const payload = buildPayload(received, platform, settings, {}) as DeliveryPayload;
  const connection = { settings, secretNames: Object.keys(secrets), ...(endpoint !== undefined && { endpoint }) };
  const shown = redactedDelivery({ platform, payload, connection, secrets, nowMs: NOW_MS });
  const call = {
    connection: { settings, secrets, endpoint },
    group: payload.group,
    accessToken: platform.token?.({ settings, secrets }) && ACCESS_TOKEN,
    nowMs: NOW_MS,
  };
  const sent = platform.request(payload.parts?.map(({ body }) => body) ?? [payload.body], call);
  return { shown, sent };
}

/** The values of the placeholders. */
function valuesOf({ secrets }: Case, sent: { headers: Readonly<Record<string, string>> }): Record<string, string> {
  const named = Object.entries(secrets).map(([name, value]) => [name.toUpperCase(), value]);
  return {
    ACCESS_TOKEN,
    ...Object.fromEntries(named),
    WEBHOOK_SIGNATURE: sent.headers['webhook-signature'] ?? '',
    ENDPOINT_1: '8f3kQ2-a91Lx',
    ...{ URL_1: 'T0KENabcDEF', URL_2: 'an-address-key', URL_3: 'c' },
  };
}

it('the cases of redacted deliveries cover every platform', () => {
  expect(new Set(CASES.map(({ platform }) => platform.name))).toEqual(new Set([...PLATFORM_NAMES, ...shippedNames()]));
});

describe.each([...CASES, ...MORE])('the request of a delivery to $name', (each) => {
  it('has no secret, in no form', () => {
    const { shown, sent } = deliver(each);
    const text = JSON.stringify(shown);
    const values = Object.entries(valuesOf(each, sent)).filter(([name, value]) => value !== '' && name !== 'URL_3');
    for (const [, value] of values)
      for (const form of [value, encodeURIComponent(value), ...base64Forms(value)])
        expect(text).not.toContain(form.slice(0, -1));
  });

  it('is what would be sent, once the placeholders are replaced', () => {
    const { shown, sent } = deliver(each);
    const values = valuesOf(each, sent);
    expect(shown.requests).toHaveLength(1);
    const [{ method, url, headers, body = '', basic } = fail()] = shown.requests;
    // The order id of the payload has the text of a placeholder.
    const names = shown.placeholders.map(({ name }) => name);
    const replaced = (text: string, encode = (value: string) => value) =>
      names.reduce((rest, name) => rest.replaceAll(`$${name}`, () => encode(values[name] as string)), text);
    expect(method).toBe(sent.method);
    expect(new URL(replaced(url, encodeURIComponent)).href).toBe(new URL(sent.url).href.replaceAll('+', '%20'));
    const authorization = basic === undefined ? {} : { authorization: `Basic ${base64(replaced(basic))}` };
    const named = Object.entries(headers).map(([name, value]) => [name, replaced(value)]);
    expect({ ...Object.fromEntries(named), ...authorization }).toEqual(sent.headers);
    expect(replaced(body)).toBe(replaced(sent.body ?? ''));
  });

  it('names each placeholder that it has, and no other', () => {
    const { shown } = deliver(each);
    const inCurl = shown.requests.flatMap(({ curl }) =>
      [...curl.matchAll(/"\$([A-Z0-9_]+)"/g)].map(([, name]) => name),
    );
    expect(new Set(shown.placeholders.map(({ name }) => name))).toEqual(new Set(inCurl));
    const hides = Object.keys(each.secrets).length > 0 || each.endpoint !== undefined;
    expect(inCurl.length > 0).toBe(hides);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Wherever it begins in the text that is encoded. */
function base64Forms(secret: string): string[] {
  return ['', '_', '__'].map((before) => base64(before + secret).slice(4, -4));
}

function fail(): never {
  throw new Error('no request');
}

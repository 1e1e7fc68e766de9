import { isOnSandbox } from '../../platforms/on-sandbox.js';
import { curlLine, repeatedCurlLine, tagSnippet } from './curl-line.js';
import { auditActor, auditDetail, auditSubject } from './views/audit-view.js';
import {
  changedSettings,
  connectionNamed,
  connectionState,
  fieldTitle,
  isStored,
  orderedConnections,
  withoutCommands,
} from './views/connection-view.js';

describe('a connection on the page', () => {
  it('comes first if it needs attention', () => {
    const items = [
      { platform: 'x', connected: false },
      { platform: 'meta', connected: true, state: 'active' as const },
      { platform: 'tiktok', connected: true, state: 'active' as const },
      { platform: 'ga4', connected: true, state: 'parked' as const },
      { platform: 'reddit', connected: true, state: 'paused' as const },
      { platform: 'pinterest', connected: true, state: 'active' as const },
    ];
    const found: Readonly<Record<string, 'error' | 'warning'>> = { tiktok: 'warning', pinterest: 'error' };
    const ordered = orderedConnections(items, (platform) => (found[platform] ? [{ severity: found[platform] }] : []));
    expect(ordered.map(({ platform }) => platform)).toEqual(['ga4', 'pinterest', 'tiktok', 'reddit', 'meta', 'x']);
    expect(
      orderedConnections(items)
        .map(({ platform }) => platform)
        .slice(0, 2),
    ).toEqual(['ga4', 'reddit']);
  });

  it('is a new one of a platform if it has a name of its own that no other has', () => {
    const stored = { platform: 'meta', connected: true, settings: { pixel_id: '1' } };
    const named = (name: string | undefined) => connectionNamed(name, [stored], [{ platform: 'meta' }]);
    expect(named('meta')).toBe(stored);
    expect(named('meta:eu')).toEqual({ platform: 'meta:eu', connected: false, settings: {} });
    for (const name of [undefined, 'unknown', 'unknown:eu', 'meta:']) expect(named(name)).toBeUndefined();
  });

  it('keeps a stored secret, which is not required again', () => {
    expect(isStored({ settings: {}, secrets: ['access_token'] }, 'access_token')).toBe(true);
    expect(isStored({ settings: { access_token: true } }, 'access_token')).toBe(true);
    expect(isStored({ settings: { pixel_id: '1' }, secrets: [] }, 'access_token')).toBe(false);
  });

  it('is on the sandbox if its endpoint is', () => {
    expect(isOnSandbox({ endpoint: 'http://127.0.0.1:99/meta' }, 'http://127.0.0.1:99')).toBe(true);
    expect(isOnSandbox({ endpoint: 'https://graph.facebook.com' }, 'http://127.0.0.1:99')).toBe(false);
    expect(isOnSandbox({}, undefined)).toBe(false);
  });

  it('names what a person has to do', () => {
    expect(connectionState({ connected: true, state: 'parked', needsReconnection: true })[1]).toBe(
      'Needs reconnection',
    );
  });

  it('is explained without commands of the command line', () => {
    const next =
      'Create a new access token. "platforms connect meta --site a.example --set <name>=<value>" changes it.';
    expect(withoutCommands(next)).toBe('Create a new access token.');
    expect(withoutCommands('"platforms resume meta --site a.example" resumes sending.')).toBeUndefined();
    expect(withoutCommands(undefined)).toBeUndefined();
  });

  it('sends what was changed, and keeps a secret whose field is empty', () => {
    const fields = [
      { name: 'pixel_id', secret: false },
      { name: 'test_code', secret: false },
      { name: 'access_token', secret: true },
    ];
    const current = { pixel_id: '1', test_code: 'T', access_token: true as const };
    expect(changedSettings(fields, current, {})).toEqual({});
    expect(changedSettings(fields, current, { pixel_id: ' 1 ', test_code: '', access_token: '' })).toEqual({
      test_code: '',
    });
    expect(changedSettings(fields, current, { pixel_id: '2', access_token: ' new ' })).toEqual({
      pixel_id: '2',
      access_token: 'new',
    });
  });

  it('has labels made of the names of its settings', () => {
    expect(['pixel_id', 'api_secret', 'url', 'event.purchase'].map(fieldTitle)).toEqual([
      'Pixel ID',
      'API secret',
      'URL',
      'Event purchase',
    ]);
  });
});

describe('an entry of the audit', () => {
  it('names who made it', () => {
    expect(auditActor('user:0199-abcdef', 'Ada')).toBe('Ada');
    expect(auditActor('user:0199-fedcba', undefined)).toBe('user fedcba');
    expect(auditActor('token:0199-fedcba', 'Terraform')).toBe('token Terraform');
    expect(auditActor('token:0199-fedcba', undefined)).toBe('token fedcba');
    expect(auditActor('cli:root', undefined)).toBe('root (command line)');
    expect(auditActor('service', undefined)).toBe('service');
  });

  it('names the user that was changed; a removed one by the end of its id', () => {
    expect(auditSubject({ stream: 'user-0199-bob', subjectName: 'Bob' })).toBe('Bob');
    expect(auditSubject({ stream: 'user-0199-fedcba' })).toBe('user fedcba');
  });

  it('lists a few values, without ids and empty ones', () => {
    expect(auditDetail({ keyId: '1', name: 'Shop', trial: false, aliases: [], settings: { pixel: '2' } })).toBe(
      'name: Shop · trial: no · pixel: 2',
    );
    expect(auditDetail({ fromPosition: 3, pixel_id: '2' })).toBe('from position: 3 · pixel_id: 2');
    expect(auditDetail({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 })).toBe('a: 1 · b: 2 · c: 3 · d: 4 · and 2 more');
  });
});

describe('what is copied', () => {
  it('names the site in a request to the service’s own machine', () => {
    expect(curlLine('shop.example', 'cc_1', 'http://localhost:8080')).toMatch(
      /^curl http:\/\/localhost:8080\/__cc\/inbound -H 'Host: shop\.example' -H 'X-CC-Api-Key: cc_1'/,
    );
    expect(curlLine('localhost', 'cc_1', 'http://localhost:8080')).not.toContain('Host:');
    expect(curlLine('shop.example', 'cc_1', undefined)).toMatch(
      /^curl https:\/\/shop\.example\/__cc\/inbound -H 'X-CC/,
    );
  });

  it('repeats a conversion with all fields, without what is not stored, quoted for a shell', () => {
    const conversion = { conversionId: '1', event: "it's", value: 1, currency: 'EUR', orderId: 'ORD-1', source: 'app' };
    const personal = { subject: 'hash', phone: 'hash', address: { city: 'Berlin' }, clickIds: { gclid: 'Cj0' } };
    const events = [{ data: { conversionId: '1' }, personal }];
    const line = (history: object) => repeatedCurlLine('localhost', history as never, 'http://localhost:8080');
    expect(line({ conversion, events })).toContain(
      String.raw`-d '{"email":"<email>","event":"it'\''s","value":1,"currency":"EUR","orderId":"ORD-1","source":"app","phone":"<phone>","city":"Berlin","clickIds":{"gclid":"Cj0"}}'`,
    );
    expect(line({ conversion, events: [{ data: {} }] })).toContain("'X-CC-Api-Key: <key>'");
    expect(line({ conversion, events })).not.toContain('hash');
  });

  it('repeats the hashes that were sent, and no email where the person has none', () => {
    const hashes = { city: 'c1', region: 'r1', postalCode: 'p1', country: 'd1' };
    const events = [{ data: { conversionId: '1' }, personal: { person: 'key', phone: 'hash', ...hashes } }];
    const history = { conversion: { conversionId: '1', event: 'lead' }, events };
    expect(repeatedCurlLine('localhost', history as never, undefined)).toContain(
      `-d '{"event":"lead","phone":"<phone>","hashed_city":"c1","hashed_region":"r1","hashed_postal_code":"p1","hashed_country":"d1"}'`,
    );
  });

  it('repeats no character that a terminal would obey or hide', () => {
    const orderId = "A\x7f\x7f';id #\x9b\u2028\u202e\u{e0001}";
    const history = { conversion: { conversionId: '1', event: 'lead', orderId }, events: [] };
    const line = repeatedCurlLine('localhost', history as never, 'http://localhost:8080');
    expect(line).toContain(String.raw`"orderId":"A\u007f\u007f'\'';id #\u009b\u2028\u202e\udb40\udc01"`);
  });

  it('loads the tag from the host of the site', () => {
    expect(tagSnippet('shop.example', 'http://localhost:8080')).toContain('src="https://shop.example/__cc/tag.js"');
    expect(tagSnippet('localhost', 'http://localhost:8080')).toContain('src="http://localhost:8080/__cc/tag.js"');
  });
});

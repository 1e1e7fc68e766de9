import { credentialsProblem } from './credentials.js';
import { PLATFORMS, platformOf } from './index.js';
import type { Authorization, OauthApp, Platform } from './platform.js';

const APP: OauthApp = { clientId: 'the-app', clientSecret: 'the secret' };
const REDIRECT = 'https://admin.example/api/v1/oauth/callback';
const NOW_MS = Date.UTC(2026, 0, 1);
const SIGN_INS = PLATFORMS.flatMap(({ name, authorization }) =>
  authorization ? [[name, authorization] as const] : [],
);
const consent = (authorization: Authorization, app = APP) =>
  new URL(authorization.consentUrl(app, { redirectUri: REDIRECT, state: 'the-state', challenge: 'the-challenge' }));
const exchange = (authorization: Authorization, app = APP) =>
  authorization.exchange(app, { code: 'the-code', redirectUri: REDIRECT, verifier: 'the-verifier' });

describe.each(SIGN_INS)('sign-in at %s', (name, authorization) => {
  it('sends the person to a page of the platform, with the app, the state and the redirect', () => {
    const { protocol, searchParams } = consent(authorization);
    expect(protocol).toBe('https:');
    expect(searchParams.get(name === 'tiktok' ? 'app_id' : 'client_id')).toBe('the-app');
    expect([searchParams.get('state'), searchParams.get('redirect_uri')]).toEqual(['the-state', REDIRECT]);
  });

  it('has no secret and no code in any address, and the secret in the request for tokens', () => {
    const { url, headers, body = '', method } = exchange(authorization);
    const extended = authorization.extend?.(APP, 'the-token');
    const addresses = [consent(authorization).href, url, extended?.url].join('\n');
    expect(decodeURIComponent(addresses)).not.toMatch(/the[ +]secret|the-code|the-token|the-verifier/);
    expect([method, new URL(url).protocol]).toEqual(['POST', 'https:']);
    const basic = Buffer.from('the-app:the%20secret').toString('base64');
    expect(headers['authorization'] === `Basic ${basic}` || /the[+ ]secret/.test(body)).toBe(true);
    expect(body).toContain('the-code');
  });

  it('goes to the endpoint of the app, such as a sandbox', () => {
    const app = { ...APP, endpoint: 'http://127.0.0.1:8089/platform' };
    const extended = authorization.extend?.(app, 'the-token');
    for (const url of [
      consent(authorization, app).href,
      exchange(authorization, app).url,
      extended?.url ?? app.endpoint,
    ])
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:8089\/platform/);
  });

  it('sets settings that the platform has', () => {
    const tokens = { accessToken: 'access', refreshToken: 'refresh', lifetimeMs: 60 * 86_400_000 };
    const { fields } = platformOf(name) as Platform;
    for (const [setting, value] of Object.entries(authorization.settings(APP, tokens, NOW_MS) ?? {})) {
      const field = fields.find((candidate) => candidate.name === setting);
      expect([setting, field === undefined]).toEqual([setting, false]);
      if (value !== '' && setting !== 'client_secret')
        expect([setting, field?.check?.(value)]).toEqual([setting, undefined]);
    }
  });

  it('reads no tokens from an error or from another text', () => {
    for (const json of [
      undefined,
      null,
      'text',
      [],
      { error: 'invalid_grant' },
      { access_token: '' },
      { access_token: 1 },
    ])
      expect(authorization.tokens(json)).toBeUndefined();
  });
});

it('sign-in at a platform binds the code by PKCE where the platform has it', () => {
  const withPkce = SIGN_INS.filter(([, { pkce }]) => pkce);
  expect(withPkce.map(([name]) => name)).toEqual(['google_ads', 'microsoft_ads']);
  for (const [, authorization] of withPkce) {
    const { searchParams } = consent(authorization);
    expect(searchParams.get('code_challenge')).toBe('the-challenge');
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(exchange(authorization).body).toContain('code_verifier=the-verifier');
  }
});

it('sign-in at a platform needs a refresh token where access tokens end within a day', () => {
  const without = (name: string) =>
    platformOf(name)?.authorization?.settings(APP, { accessToken: 'access', lifetimeMs: 3_600_000 }, NOW_MS);
  for (const name of ['google_ads', 'microsoft_ads', 'pinterest', 'snapchat', 'reddit'])
    expect([name, without(name)]).toEqual([name, undefined]);
  expect(without('linkedin')).toMatchObject({ access_token: 'access', access_token_expires: '2026-01-01' });
  expect(without('meta')).toEqual({ access_token: 'access', access_token_expires: '2026-01-01' });
});

it.each(['pinterest', 'snapchat', 'reddit', 'linkedin'])('%s renews access tokens with a refresh token', (name) => {
  const platform = platformOf(name) as Platform;
  const secrets = { client_secret: 'the-secret', refresh_token: 'refresh', access_token: 'old' };
  const connection = { settings: { client_id: 'the-app' }, secrets };
  const request = platform.token?.(connection);
  expect(request?.form).toMatchObject({ grant_type: 'refresh_token', refresh_token: 'refresh' });
  const call = { connection, accessToken: 'fresh', nowMs: NOW_MS };
  const sent = JSON.stringify(platform.request(['{}'], call));
  expect([sent.includes('fresh'), sent.includes('old')]).toEqual([true, false]);
  expect(platform.token?.({ settings: {}, secrets: { access_token: 'old' } })).toBeUndefined();
});

it('a connection requires an access token, or all that is needed to obtain one', () => {
  const all = { settings: { client_id: 'c' }, secrets: { client_secret: 's', refresh_token: 'r' } };
  expect(credentialsProblem(all)).toBeUndefined();
  expect(credentialsProblem({ settings: {}, secrets: { access_token: 'a' } })).toBeUndefined();
  expect(credentialsProblem({ settings: {}, secrets: {} })).toMatch(/^access_token is missing/);
  expect(credentialsProblem({ ...all, settings: {} })).toMatch(/^client_id missing/);
});

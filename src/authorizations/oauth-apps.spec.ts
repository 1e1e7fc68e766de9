import { appOf } from './oauth-apps.js';

const REAL = { clientId: 'real', clientSecret: 'real-secret' };
const SANDBOX = 'http://127.0.0.1:8089/meta';
const GATEWAY = 'https://gateway.example/meta';

describe('appOf', () => {
  it('gives a new connection the app, which signs in at its own endpoint if it has one', () => {
    expect(appOf(undefined, undefined)).toBeUndefined();
    expect(appOf(REAL, undefined)).toBe(REAL);
    expect(appOf({ ...REAL, endpoint: SANDBOX }, undefined)).toMatchObject({ clientId: 'real', endpoint: SANDBOX });
  });

  it('gives a connection an app only if both have the same endpoint', () => {
    const ofGateway = { ...REAL, endpoint: GATEWAY };
    expect(appOf(REAL, {})).toBe(REAL);
    expect(appOf(ofGateway, { endpoint: GATEWAY })).toBe(ofGateway);
    expect(appOf(REAL, { endpoint: GATEWAY })).toBeUndefined();
    expect(appOf(ofGateway, {})).toBeUndefined();
    expect(appOf(ofGateway, { endpoint: 'https://gateway.example/other' })).toBeUndefined();
    expect(appOf(undefined, { endpoint: GATEWAY })).toBeUndefined();
  });

  it('gives a sandbox no credentials of an app that is not meant for it', () => {
    for (const app of [undefined, REAL, { ...REAL, endpoint: GATEWAY }]) {
      const found = appOf(app, { endpoint: SANDBOX });
      expect(found).toMatchObject({ clientId: 'sandbox-client', endpoint: SANDBOX });
      expect(JSON.stringify(found)).not.toContain('real');
    }
  });
});

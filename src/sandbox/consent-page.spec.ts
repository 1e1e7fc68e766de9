import { type ConsentRules, consentAnswer } from './consent-page.js';
import { type Memory, sandboxRequest } from './double.js';
import { takeGrant } from './grants.js';

const RULES: ConsentRules = {
  required: { response_type: 'code' },
  scopes: { names: ['a', 'b'], separator: ' ' },
  pkce: true,
};
const GOOD = {
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'http://localhost/back',
  state: 's',
  scope: 'a b',
};

function open(changes: Record<string, string>, memory: Memory = new Map()) {
  const query = new URLSearchParams({ ...GOOD, ...changes });
  return consentAnswer(sandboxRequest('GET', `/auth?${query}`, { memory }), RULES);
}

describe('the consent page', () => {
  it.each([
    ['a missing parameter', { state: '' }],
    ['a wrong response type', { response_type: 'token' }],
    ['a missing scope', { scope: 'a' }],
    ['a plain challenge', { code_challenge: 'x', code_challenge_method: 'plain' }],
    ['a redirect that is a script', { redirect_uri: 'javascript:alert(1)' }],
  ])('refuses %s', (_, changes) => {
    expect(open(changes).status).toBe(400);
  });

  it('shows what the app is called as text', () => {
    const { status, body } = open({ client_id: '"><script>', state: '"><script>' });
    expect(status).toBe(200);
    expect(body).not.toContain('<script>');
  });

  it('gives a code that its client can use once, with the redirect and the verifier', () => {
    const memory: Memory = new Map();
    const challenge = 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0'; // Challenge of the verifier "abc".
    const codeOf = () =>
      /code=(sandbox-code-\d+)/.exec(
        open({ code_challenge: challenge, code_challenge_method: 'S256' }, memory).body,
      )?.[1];
    const good = { clientId: 'app', redirectUri: GOOD.redirect_uri, verifier: 'abc' };
    const code = codeOf();
    expect(takeGrant(memory, { ...good, code })).toMatchObject({ kind: 'good' });
    expect(takeGrant(memory, { ...good, code })).toBeUndefined();
    for (const wrong of [{ clientId: 'other' }, { redirectUri: 'http://localhost/other' }, { verifier: 'abd' }])
      expect(takeGrant(memory, { ...good, ...wrong, code: codeOf() })).toBeUndefined();
  });
});

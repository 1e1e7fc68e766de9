import type { PlatformClient } from '../delivery/connections/platform-client.js';
import { platformOf } from '../platforms/index.js';
import { exchangeCode, NoTokens, type SignInPlatform } from './exchange-code.js';

const APP = { clientId: 'the-app', clientSecret: 'GOCSPX.short~secret' };
const CODE = { code: '4/0Ab.code', redirectUri: 'https://admin.example/callback', verifier: 'the.verifier' };

/** A platform that answers in turn. */
function answering(...answers: { status: number; json: unknown }[]): PlatformClient {
  return { request: async () => answers.shift() } as unknown as PlatformClient;
}

const refusalOf = (platform: string, client: PlatformClient): Promise<unknown> =>
  exchangeCode(client, platformOf(platform) as SignInPlatform, APP, CODE).catch((error: unknown) => error);

describe('the refusal of a code', () => {
  it('does not repeat what was sent', async () => {
    const error_description = `Bad code 4%2F0Ab.code for ${APP.clientSecret}, verifier ${CODE.verifier} (${CODE.code})`;
    const error = await refusalOf(
      'google_ads',
      answering({ status: 400, json: { error: 'invalid_grant', error_description } }),
    );
    expect(error).toBeInstanceOf(NoTokens);
    expect((error as Error).message).toBe(
      'The platform gave no token: HTTP 400, invalid_grant: Bad code … for …, verifier … (…)',
    );
  });

  it('does not repeat the token that was to be extended', async () => {
    const error = await refusalOf(
      'meta',
      answering(
        { status: 200, json: { access_token: 'EAA.first.token', expires_in: 3_600 } },
        { status: 400, json: { error: { message: 'Cannot extend EAA.first.token' } } },
      ),
    );
    expect((error as Error).message).toBe('The platform gave no token: HTTP 400, Cannot extend …');
  });
});

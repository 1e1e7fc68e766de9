import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import Provider, { type Configuration } from 'oidc-provider';

export const CLIENT = { id: 'clean-conversions', secret: 'a secret of the client, long enough' };

/** A real OpenID Connect provider on loopback, whose people sign in with any password. */
export interface TestProvider {
  readonly issuer: string;
  /** The settings of an application that uses it. */
  readonly environment: Record<string, string>;
  /** Claims by login. A person without claims does not exist. */
  readonly people: Map<string, Record<string, unknown>>;
  /** By how much its clock is ahead, or behind if it is negative. */
  clockAheadMs: number;
  /** Its ID tokens have signatures that are not valid. */
  forges: boolean;
  /** It closes connections instead of answering. */
  isAway: boolean;
  /** Accepts sign-ins for an application at this address. */
  register(application: string): void;
  stop(): Promise<void>;
}

export async function startTestProvider(): Promise<TestProvider> {
  const people = new Map<string, Record<string, unknown>>();
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const running: TestProvider = {
    issuer,
    environment: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret },
    people,
    clockAheadMs: 0,
    forges: false,
    isAway: false,
    register: (application) => {
      // It warns that its sample pages and keys are not for production.
      const warning = jest.spyOn(console, 'warn').mockImplementation(() => {});
      const provider = new Provider(issuer, configuration(application, people));
      warning.mockRestore();
      const handle = provider.callback();
      server.removeAllListeners('request').on('request', (request, response) => {
        if (running.clockAheadMs !== 0) {
          // The application shares this process, and only waits while the provider answers.
          const { now } = Date;
          const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + running.clockAheadMs);
          response.once('close', () => clock.mockRestore());
        }
        if (running.isAway) {
          request.destroy();
          return;
        }
        if (running.forges) forgeSignature(response);
        void handle(request, response);
      });
    },
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return running;
}

function forgeSignature(response: ServerResponse): void {
  const end = response.end.bind(response) as (body?: unknown) => ServerResponse;
  response.end = ((body?: unknown) => {
    const text = String(body ?? '');
    // The forged signature has the same length.
    const forged = text.replace(
      /("id_token":"[^"]+\.)([^".]+)"/,
      (_, start, signature) => `${start}${'A'.repeat(signature.length)}"`,
    );
    return end(text === '' ? undefined : forged);
  }) as never;
}

function configuration(application: string, people: ReadonlyMap<string, Record<string, unknown>>): Configuration {
  return {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${application}/api/v1/session/provider/callback`],
        post_logout_redirect_uris: [`${application}/`],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'roles'] },
    // Claims in the ID token, as most providers do.
    conformIdTokenClaims: false,
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: 60,
      AuthorizationCode: 60,
      Grant: 60,
      IdToken: 60,
      Interaction: 60,
      RefreshToken: 600,
      Session: 60,
    },
    pkce: { required: () => true },
    cookies: { keys: ['one key of the test'] },
    features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
    findAccount: (_context: unknown, id: string) => {
      const claims = people.get(id);
      return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) };
    },
  };
}

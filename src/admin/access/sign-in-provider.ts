import { Inject, Injectable } from '@nestjs/common';
import type { Configuration } from 'openid-client';
import { isLoopbackHost } from '../../kernel/addresses.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { Postgres } from '../../postgres/postgres.js';
import { type ExternalIdentity, identityOf } from '../../users/external-identity.js';

const CLOCK_TOLERANCE_S = 60;
const TIMEOUT_S = 10;

/** What the browser keeps, sealed, between leaving for the provider and coming back. */
export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

interface StatedIdentity {
  readonly identity: ExternalIdentity;
  /** Refresh token; undefined if the provider gives none. */
  readonly grant: string | undefined;
}

/** OpenID Connect: sign-in at the provider of `OIDC_ISSUER`, by authorization code with PKCE. */
@Injectable()
export class SignInProvider {
  private discovered: Promise<Configuration> | undefined;

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly postgres: Postgres,
  ) {}

  get isConfigured(): boolean {
    return this.settings.oidcIssuer !== undefined;
  }

  /** Roles are not set here, but at the provider. */
  get decidesRoles(): boolean {
    return this.isConfigured && this.settings.oidcRoleClaim !== undefined;
  }

  async begin(redirectUri: string): Promise<{ url: URL; pending: PendingSignIn }> {
    const client = await loadClient();
    const pending = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
    };
    const configuration = await this.configuration();
    // For a refresh token, with which it is asked about the role again. Some providers refuse a scope that they do not know.
    const isOffline = this.decidesRoles && configuration.serverMetadata().scopes_supported?.includes('offline_access');
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: `openid email profile${isOffline ? ' offline_access' : ''}`,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    });
    return { url, pending };
  }

  /** @param answer the URL that the provider sent the browser to. Throws if the answer is not one to this request. */
  async finish(answer: URL, { state, nonce, verifier }: PendingSignIn): Promise<StatedIdentity> {
    const client = await loadClient();
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await client
      .authorizationCodeGrant(await this.configuration(), answer, checks)
      .catch((error: unknown) => {
        throw isAboutTime(error) ? new ClocksDiffer() : error;
      });
    const claims = { ...tokens.claims() };
    this.requireIssued(claims.iat);
    return { identity: identityOf(claims, this.settings.oidcRoleClaim), grant: tokens.refresh_token };
  }

  /** What the provider states now. Throws `GrantRefused` if it wants the person to sign in again. */
  async ask(grant: string): Promise<StatedIdentity> {
    const client = await loadClient();
    const configuration = await this.configuration();
    const tokens = await client.refreshTokenGrant(configuration, grant).catch((error: unknown) => {
      throw isRefusal(error) ? new GrantRefused() : error;
    });
    const { issuer } = configuration.serverMetadata();
    // Not every provider answers with another ID token.
    const claims = tokens.claims() ?? {
      ...(await client.fetchUserInfo(configuration, tokens.access_token, client.skipSubjectCheck)),
      iss: issuer,
    };
    const identity = identityOf({ ...claims }, this.settings.oidcRoleClaim);
    return { identity, grant: tokens.refresh_token ?? grant };
  }

  /** Where a person signs out at the provider; undefined if it has no such page. */
  async signOutUrl(returnTo: string): Promise<URL | undefined> {
    const configuration = await this.configuration();
    if (!configuration.serverMetadata().end_session_endpoint) return undefined;
    const client = await loadClient();
    return client.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo });
  }

  /** Not checked by the library: a token from the future would stay valid for longer than the provider means. */
  private requireIssued(issuedAtS: number | undefined): void {
    const latestMs = this.postgres.clock.nowMs() + CLOCK_TOLERANCE_S * 1_000;
    if (issuedAtS !== undefined && issuedAtS * 1_000 > latestMs) throw new ClocksDiffer();
  }

  /** Read again after a failure: the provider may have been unreachable. */
  private configuration(): Promise<Configuration> {
    this.discovered ??= this.discover().catch((error: unknown) => {
      this.discovered = undefined;
      throw error;
    });
    return this.discovered;
  }

  private async discover(): Promise<Configuration> {
    const { oidcIssuer, oidcClientId, oidcClientSecret } = this.settings;
    const client = await loadClient();
    const issuer = new URL(oidcIssuer as string);
    const metadata = { client_secret: oidcClientSecret as string, [client.clockTolerance]: CLOCK_TOLERANCE_S };
    // Settings accept http for a provider on this machine only.
    const insecure = isLoopbackHost(issuer.hostname) ? [client.allowInsecureRequests] : [];
    // Verifies the signatures of ID tokens, too.
    const execute = [client.enableNonRepudiationChecks, ...insecure];
    return client.discovery(issuer, oidcClientId as string, metadata, undefined, { execute, timeout: TIMEOUT_S });
  }
}

/** The person has signed out at the provider, or lost the account there. */
export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
}

/** A token that was just issued has expired, or is from the future. */
export class ClocksDiffer extends Error {
  override readonly name = 'ClocksDiffer';
  constructor() {
    super(
      `The clocks of this installation and of the sign-in provider differ by more than ${CLOCK_TOLERANCE_S} s. Synchronise both with NTP.`,
    );
  }
}

function isRefusal(error: unknown): boolean {
  return (error as { error?: unknown }).error === 'invalid_grant';
}

function isAboutTime(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED';
}

/** Loaded on first use: most installations have no provider. */
function loadClient() {
  return import('openid-client');
}

import { Injectable } from '@nestjs/common';
import { type Principal, tokenPrincipal, userPrincipal } from '../../users/access.js';
import { hashSecretToken } from '../../users/secret-token.js';
import { SessionsService } from '../../users/sessions.service.js';
import { TokensService } from '../../users/tokens.service.js';
import type { UserRow } from '../../users/user.row.js';
import type { AdminRequest } from './access.decorators.js';
import { ProviderCheck } from './provider-check.js';
import type { SameHost } from './same-host.js';
import { readSessionCookie } from './session-cookie.js';

/** What a request is authenticated with. */
export interface Credential {
  readonly kind: 'session' | 'token';
  readonly text: string;
}

/** A token before a session: a request that names one means it. Undefined if the request has neither. */
export function credentialOf({ headers, raw }: AdminRequest, hosts: SameHost): Credential | undefined {
  const { authorization, cookie } = headers;
  if (authorization !== undefined) {
    const [, text] = /^Bearer (\S{20,200})$/i.exec(authorization) ?? [];
    return text === undefined ? undefined : { kind: 'token', text };
  }
  const text = readSessionCookie(cookie, hosts.cookieName('cc_session', raw));
  return text === undefined ? undefined : { kind: 'session', text };
}

/** Who has a credential, and what it allows now. Read from the database each time: a revocation takes effect at once. */
@Injectable()
export class Credentials {
  constructor(
    private readonly sessions: SessionsService,
    private readonly tokens: TokensService,
    private readonly check: ProviderCheck,
  ) {}

  /** Undefined if the credential is not valid. Without `isUse`, a session does not become younger. */
  async find({ kind, text }: Credential, isUse = true): Promise<Principal | undefined> {
    if (kind === 'token') {
      const token = await this.tokens.find(text, isUse);
      const owner = token && (await this.check.confirm(token.owner));
      return owner && tokenPrincipal({ ...token, sites: token.sites ?? 'all', owner: userAccess(owner) });
    }
    return this.findBySession(hashSecretToken(text), isUse);
  }

  async findBySession(hash: Buffer, isUse = true): Promise<Principal | undefined> {
    const found = await this.sessions.find(hash, isUse);
    const user = found && (await this.check.confirm(found));
    return user && userPrincipal(userAccess(user));
  }
}

function userAccess({ id, role, sites }: UserRow) {
  return { id, role, sites: sites ?? ('all' as const) };
}

import { hash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Sealer } from '../../kernel/sealing.js';
import { Postgres } from '../../postgres/postgres.js';
import type { UserRow } from '../../users/user.row.js';
import type { AdminRequest } from './access.decorators.js';
import { SameHost } from './same-host.js';
import { browserCookie, readCookie } from './session-cookie.js';

const COOKIE = 'cc_browser';
const KNOWN_DAYS = 180;
const DAY_MS = 24 * 60 * 60 * 1_000;

type Owner = Pick<UserRow, 'id' | 'passwordHash'>;

interface KnownBrowser {
  readonly id: string;
  readonly userId: string;
  readonly password: string;
  readonly untilMs: number;
}

/**
 * Browsers in which a user has signed in with the password of now, known by a sealed cookie. It gives no access, only attempts
 * that others cannot use up. Another password ends it: otherwise an intruder could collect cookies, and guess the next one with them.
 */
@Injectable()
export class KnownBrowsers {
  constructor(
    private readonly sealer: Sealer,
    private readonly postgres: Postgres,
    private readonly hosts: SameHost,
  ) {}

  /** The cookie to set. */
  remember({ id: userId, passwordHash }: Owner, { raw }: AdminRequest): string {
    const untilMs = this.postgres.clock.nowMs() + KNOWN_DAYS * DAY_MS;
    const known: KnownBrowser = { id: randomUUID(), userId, password: digest(passwordHash), untilMs };
    const sealed = this.sealer.seal(Buffer.from(JSON.stringify(known)), COOKIE).toString('base64url');
    return browserCookie(this.hosts.cookieName(COOKIE, raw), sealed, (KNOWN_DAYS * DAY_MS) / 1_000);
  }

  /** The id of the browser; undefined unless the user has signed in there. */
  recognise(user: Owner | null, { headers, raw }: AdminRequest): string | undefined {
    const sealed = readCookie(headers.cookie, this.hosts.cookieName(COOKIE, raw));
    const opened = sealed === undefined ? undefined : this.sealer.tryOpen(Buffer.from(sealed, 'base64url'), COOKIE);
    if (!(opened && user)) return undefined;
    const { id, userId, password, untilMs } = JSON.parse(opened.plain.toString()) as KnownBrowser;
    const isKnown =
      userId === user.id && password === digest(user.passwordHash) && untilMs > this.postgres.clock.nowMs();
    return isKnown ? id : undefined;
  }
}

function digest(passwordHash: string | null): string {
  return hash('sha256', passwordHash ?? '', 'base64url');
}

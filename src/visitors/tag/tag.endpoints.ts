import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { ConsentState } from '../../events/visitor.events.js';
import { type Answer, emptyAnswer, sendAnswer, textAnswer } from '../../http/answer.js';
import { HotRoutes } from '../../http/hot-routes.js';
import { readBody } from '../../http/read-body.js';
import { RequestOrigin } from '../../http/request-origin.js';
import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import { CLOCK, type Clock } from '../../kernel/clock.js';
import { readCountry } from '../../kernel/codes/countries.js';
import { LogUnavailable, messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { ownText } from '../../kernel/own-text.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { isClosed } from '../../sites/site.js';
import { type LoadedSite, SiteDirectory } from '../../sites/site-directory.js';
import { ChangeConsent } from '../change-consent.command.js';
import { clickPeople } from '../click-people.js';
import { mayStoreVisit, meaningOf } from '../consent.js';
import { RecordVisit, type RequestSignals } from '../record-visit.command.js';
import { visitDigest } from '../visitor.js';
import { isAllowedOrigin } from './allowed-origin.js';
import { CallRate } from './call-rate.js';
import { deniesIn } from './default-regions.js';
import { isInEurope } from './europe.js';
import { TagBudgets } from './tag-budgets.js';
import { readTagMessage, type TagCall, type TagMessage } from './tag-message.js';
import { TagMetrics, type TagOutcome } from './tag-metrics.js';
import {
  type CallingVisitor,
  callingVisitor,
  cookieKey,
  deleteCookie,
  hasVisitorCookie,
  readVisitorCookie,
  setCookie,
  withLandings,
} from './visitor-cookie.js';

const PATHS: Readonly<Record<string, TagCall>> = {
  '/__cc/collect': 'collect',
  '/__cc/identify': 'identify',
  '/__cc/consent': 'consent',
};
const BODY_MAX_BYTES = 8 * 1024;
const USER_AGENT_MAX = 512;
/** The tag sends `text/plain`, which needs no CORS preflight; other scripts may send JSON. */
const CONTENT_TYPE = /^(?:text\/plain|application\/json)\s*(?:;|$)/i;

const ALL_SITES = '';
/** At most so much for the events of a call, indexes and folded rows, as `test/tag-storage.e2e-spec.ts` measures. */
const STORED_PER_CALL = 1_500;
const STORED_PER_BYTE = 5;

type CountedAnswer = Answer & { readonly outcome: TagOutcome };

const refused = (status: number, text: string, outcome: TagOutcome): CountedAnswer => ({
  ...textAnswer(status, text),
  outcome,
});
const ACCEPTED: CountedAnswer = { ...emptyAnswer(), outcome: 'taken' };
/** For scripts that send JSON; the tag itself causes no preflight. */
const PREFLIGHT: CountedAnswer = {
  ...emptyAnswer({
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'Content-Type',
    'Access-Control-Max-Age': '600',
  }),
  outcome: 'taken',
};
const NOT_POST: CountedAnswer = { ...refused(405, 'Use POST here.', 'malformed'), headers: { Allow: 'POST' } };
const HTTPS_REQUIRED = refused(403, 'HTTPS required', 'refused');
const NO_SITE = refused(404, 'No site has this host. Add it with "sites add", or as an alias of one.', 'refused');
const NOT_ALLOWED = refused(
  403,
  'Pages of this origin may not call this site: "sites set --origin" names more.',
  'refused',
);
const TOO_MANY: CountedAnswer = {
  ...refused(429, 'Too many calls from this address', 'throttled'),
  headers: { 'Retry-After': '1' },
};
const OVER_BUDGET = refused(429, 'The daily budget for such calls is used up', 'throttled');
const WRONG_TYPE = refused(415, 'Send the message as text/plain or application/json.', 'malformed');
const TOO_LARGE = refused(413, `The message is larger than ${BODY_MAX_BYTES} bytes.`, 'malformed');
const NOT_A_TAG_MESSAGE = refused(400, 'This is not a message of the tag: "v" must be 1.', 'malformed');
const UNAVAILABLE: CountedAnswer = {
  ...refused(503, 'Temporarily unavailable', 'unavailable'),
  headers: { 'Retry-After': '2' },
};
const INTERNAL_ERROR = refused(500, 'Internal error', 'unavailable');

/**
 * The three endpoints of the browser tag. Anonymous callers reach them, so origin, rate, body size and the stored fields
 * are all restricted.
 */
@Injectable()
export class TagEndpoints implements OnModuleInit {
  private readonly origin: RequestOrigin;
  private readonly rate: CallRate;
  private readonly storage: CallRate;
  private readonly budgets: TagBudgets;
  private readonly countryHeader: string | undefined;
  private readonly cookieMaxAgeMs: number;

  constructor(
    private readonly hotRoutes: HotRoutes,
    private readonly sites: SiteDirectory,
    private readonly commands: CommandBus,
    private readonly metrics: TagMetrics,
    private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.rate = new CallRate(settings.collectRate, settings.collectBurst);
    // No hour has more than its bytes: half of them may be used at once, the other half as they come back.
    const halfBytes = settings.tagBudgetStorage * 500_000;
    this.storage = new CallRate(halfBytes / 3_600, halfBytes);
    const perPerson = { calls: settings.tagBudgetPerson, emails: 1, bytes: Number.POSITIVE_INFINITY };
    this.budgets = new TagBudgets({
      ...{ address: settings.tagBudgetAddress, visitor: settings.tagBudgetVisitor },
      ...{ person: perPerson, site: settings.tagBudgetSite },
    });
    this.countryHeader = settings.countryHeader;
    this.cookieMaxAgeMs = settings.identifierTtlMs;
  }

  onModuleInit(): void {
    for (const path in PATHS) {
      this.hotRoutes.add(path, (request, response) => this.handle(PATHS[path] as TagCall, request, response));
    }
  }

  private handle(call: TagCall, request: IncomingMessage, response: ServerResponse): void {
    const page = request.headers.origin;
    const open = this.sites.find(this.origin.host(request));
    const isAllowed = open !== undefined && isAllowedOrigin(page, open.site);
    const send = (answer: CountedAnswer) => {
      this.metrics.count(call, answer.outcome);
      // Echoes the origin instead of `*`, so that scripts of other pages cannot read the response.
      const cors = { 'Access-Control-Allow-Origin': page, 'Access-Control-Allow-Credentials': 'true' };
      const headers = { ...answer.headers, Vary: 'Origin', ...(isAllowed && cors) };
      sendAnswer(response, { ...answer, headers } as Answer, randomUUID());
    };
    this.answer(call, request).then(send, (error: unknown) => send(this.answerToFailure(error)));
  }

  /** The site that the page may call, as of now, or why it may not. */
  private async findSite(request: IncomingMessage): Promise<LoadedSite | CountedAnswer> {
    // After a freeze or a lost database connection, the log may hold a change that this process has not read.
    if (!this.sites.isFresh()) await this.sites.refresh();
    const open = this.sites.find(this.origin.host(request));
    if (!open) return NO_SITE;
    const isAllowed = isAllowedOrigin(request.headers.origin, open.site);
    if (request.method === 'OPTIONS' && isAllowed) return PREFLIGHT;
    if (request.method !== 'POST') return NOT_POST;
    if (isClosed(open.site)) return UNAVAILABLE;
    return isAllowed ? open : NOT_ALLOWED;
  }

  private async answer(call: TagCall, request: IncomingMessage): Promise<CountedAnswer> {
    if (!this.origin.isSecure(request)) return HTTPS_REQUIRED;
    const called = await this.findSite(request);
    if ('status' in called) return called;
    const address = this.origin.address(request);
    if (this.rate.take(called.site.host, address, performance.now()) > 0) return TOO_MANY;
    const { headers } = request;
    if (!CONTENT_TYPE.test(headers['content-type'] ?? '') || headers['content-encoding'] !== undefined)
      return WRONG_TYPE;
    const body = await readBody(request, BODY_MAX_BYTES);
    if (!body) return TOO_LARGE;
    // A client may take seconds to send the body: what was changed meanwhile is in force.
    const open = await this.findSite(request);
    if ('status' in open) return open;
    const nowMs = this.clock.nowMs();
    const sent = readTagMessage(parseStrictJson(body), nowMs);
    if (!sent) return NOT_A_TAG_MESSAGE;
    const country = this.countryOf(request) ?? open.site.settings.country ?? undefined;
    const message: TagMessage = {
      ...sent,
      ...(isInEurope(country) && { europe: true }),
      consent: this.consentOf(request, sent),
      visit: sent.visit && visitDigest(open.dedupSecret, sent.visit),
    };
    const key = cookieKey(open.dedupSecret);
    const visitor = callingVisitor(readVisitorCookie(headers.cookie, key, nowMs), nowMs);
    // An event each: see `clickPeople`.
    const events = 1 + clickPeople(open.site.settings, message.clicks).length;
    const bytes = events * storedBytes(request, body);
    const waitS = this.storage.take(ALL_SITES, address, performance.now(), bytes);
    if (waitS > 0) {
      this.metrics.countExceeded({ scope: 'address', limit: 'bytes' });
      return { ...TOO_MANY, headers: { 'Retry-After': String(Math.ceil(waitS)) } };
    }
    const exceeded = this.budgets.take(
      {
        ...{ site: open.site.host, address, subject: message.subject, bytes: body.length },
        visitor: visitor.cookie && visitor.id,
      },
      nowMs,
    );
    if (exceeded) {
      this.metrics.countExceeded(exceeded);
      return { ...OVER_BUDGET, headers: { 'Retry-After': String(exceeded.retryAfterS) } };
    }
    await this.commands.execute(
      call === 'consent'
        ? new ChangeConsent('tag', open.site, message, visitor)
        : new RecordVisit('tag', open.site, call, message, this.signals(request, address), visitor),
    );
    const cookie = this.cookieAfter(call, request, open, message, visitor, key);
    return cookie ? { ...ACCEPTED, headers: { ...ACCEPTED.headers, 'Set-Cookie': cookie } } : ACCEPTED;
  }

  /** What the browser reports by itself counts as well, and the default of a page only in its regions. */
  private consentOf(request: IncomingMessage, { consent, defaultRegions }: TagMessage): ConsentState | undefined {
    if (request.headers['sec-gpc'] === '1') {
      const { undecided: _, ...decided } = consent ?? {};
      return { ...decided, gpc: true };
    }
    const country = consent?.undecided && defaultRegions && readCountry(this.countryOf(request) ?? '');
    return country && !deniesIn(country, defaultRegions) ? undefined : consent;
  }

  /** As a trusted proxy states it. */
  private countryOf(request: IncomingMessage): string | undefined {
    const country = this.countryHeader && this.origin.forwarded(request, this.countryHeader);
    return country ? country.toUpperCase().slice(0, 2) : undefined;
  }

  /** The visitor cookie from now on: none before a required consent, deleted after a denial, as it was while undecided. */
  private cookieAfter(
    call: TagCall,
    request: IncomingMessage,
    { site: { settings } }: LoadedSite,
    { consent, visit, visitor: browser, clicks }: TagMessage,
    { id, cookie, nowMs }: CallingVisitor,
    key: Buffer,
  ): string | undefined {
    const isTls =
      (request.socket as TLSSocket).encrypted || this.origin.forwarded(request, 'x-forwarded-proto') === 'https';
    if (meaningOf(consent) === 'undecided') return undefined;
    if (!mayStoreVisit(consent, settings.consentRequired))
      return hasVisitorCookie(request.headers.cookie) ? deleteCookie(isTls) : undefined;
    if (call === 'consent' || !visit || !browser) return undefined;
    const next = withLandings(cookie ?? { id, sinceMs: nowMs, landings: {} }, clicks, nowMs);
    return setCookie(next, key, this.cookieMaxAgeMs, isTls);
  }

  private signals(request: IncomingMessage, ip: string | undefined): RequestSignals {
    const { headers } = request;
    const { 'user-agent': userAgent = '' } = headers;
    const country = this.countryOf(request);
    return {
      userAgent: ownText(userAgent.slice(0, USER_AGENT_MAX), userAgent),
      headers: {
        acceptLanguage: headers['accept-language'] !== undefined,
        secFetch: headers['sec-fetch-mode'] !== undefined,
      },
      ...(ip !== undefined && { ip }),
      ...(country && { country }),
    };
  }

  private answerToFailure(error: unknown): CountedAnswer {
    if (error instanceof MalformedBody) return refused(400, error.message, 'malformed');
    if (error instanceof LogUnavailable) return UNAVAILABLE;
    this.logger.error('Tag request failed', { error: messageOf(error), stack: (error as Error).stack });
    return INTERNAL_ERROR;
  }
}

function storedBytes({ headers }: IncomingMessage, body: Buffer): number {
  const userAgent = Math.min(USER_AGENT_MAX, headers['user-agent']?.length ?? 0);
  return STORED_PER_CALL + STORED_PER_BYTE * (body.length + userAgent);
}

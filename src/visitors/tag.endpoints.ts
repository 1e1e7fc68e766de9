import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Answer, emptyAnswer, sendAnswer, textAnswer } from '../http/answer.js';
import { FrontDoor } from '../http/front-door.js';
import { readBody } from '../http/read-body.js';
import { RequestOrigin } from '../http/request-origin.js';
import { MalformedBody, parseStrictJson } from '../http/strict-json.js';
import { LogUnavailable, messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { type LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import { isAllowedOrigin } from './allowed-origin.js';
import { BotJudge } from './bots/judge.js';
import { CallRate } from './call-rate.js';
import { decideVisit, type RequestSignals, type TagCall } from './record-visit.js';
import { readTagMessage } from './tag-message.js';
import { TagMetrics, type TagOutcome } from './tag-metrics.js';

const PATHS: Readonly<Record<string, TagCall>> = {
  '/__cc/collect': 'collect',
  '/__cc/identify': 'identify',
  '/__cc/consent': 'consent',
};
const BODY_MAX_BYTES = 8 * 1024;
const USER_AGENT_MAX = 512;
/** What a page's script may send: our own tag's simple request, which needs no preflight, or plain JSON. */
const CONTENT_TYPE = /^(?:text\/plain|application\/json)\s*(?:;|$)/i;

type Counted = Answer & { readonly outcome: TagOutcome };

const refused = (status: number, text: string, outcome: TagOutcome): Counted => ({
  ...textAnswer(status, text),
  outcome,
});
const TAKEN: Counted = { ...emptyAnswer({ 'Cache-Control': 'no-store' }), outcome: 'taken' };
/** Our own tag needs none; a script that sends JSON does. */
const PREFLIGHT: Counted = {
  ...emptyAnswer({
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': 'Content-Type',
    'Access-Control-Max-Age': '600',
  }),
  outcome: 'taken',
};
const NOT_POSTED: Counted = { ...refused(405, 'Use POST here.', 'malformed'), headers: { Allow: 'POST' } };
const HTTPS_REQUIRED = refused(403, 'HTTPS required', 'refused');
const NO_SITE = refused(404, 'No site has this host. Add it with "sites add", or as an alias of one.', 'refused');
const NOT_ALLOWED = refused(
  403,
  'Pages of this origin may not call this site: "sites set --origin" names more.',
  'refused',
);
const TOO_MANY: Counted = {
  ...refused(429, 'Too many calls from this address', 'throttled'),
  headers: { 'Retry-After': '1' },
};
const WRONG_TYPE = refused(415, 'Send the message as text/plain or application/json.', 'malformed');
const TOO_LARGE = refused(413, `The message is larger than ${BODY_MAX_BYTES} bytes.`, 'malformed');
const NOT_OURS = refused(400, 'This is not a message of the tag: "v" must be 1.', 'malformed');
const UNAVAILABLE: Counted = {
  ...refused(503, 'Temporarily unavailable', 'unavailable'),
  headers: { 'Retry-After': '2' },
};
const OUR_FAULT = refused(500, 'Internal error', 'unavailable');

/**
 * The three addresses that the browser tag calls. They are open to everybody by nature, so everything about them is
 * bounded: who may call (pages of the site), how often, how much, and what of it is kept.
 */
@Injectable()
export class TagEndpoints implements OnModuleInit {
  private readonly origin: RequestOrigin;
  private readonly rate: CallRate;
  private readonly countryHeader: string | undefined;

  constructor(
    private readonly frontDoor: FrontDoor,
    private readonly sites: SiteDirectory,
    private readonly log: EventLog,
    private readonly judge: BotJudge,
    private readonly metrics: TagMetrics,
    private readonly logger: Logger,
    @Inject(SETTINGS) settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.rate = new CallRate(settings.collectRate, settings.collectBurst);
    this.countryHeader = settings.countryHeader;
  }

  onModuleInit(): void {
    for (const path in PATHS) {
      this.frontDoor.put(path, (request, response) => this.handle(PATHS[path] as TagCall, request, response));
    }
  }

  private handle(call: TagCall, request: IncomingMessage, response: ServerResponse): void {
    const open = this.sites.find(this.origin.host(request));
    const page = request.headers.origin;
    const isAllowed = open !== undefined && isAllowedOrigin(page, open.site);
    const send = (answer: Counted) => {
      this.metrics.count(call, answer.outcome);
      // Only the pages that may ask are told that they may, and by name: nobody else's scripts read anything.
      const headers = { ...answer.headers, Vary: 'Origin', ...(isAllowed && { 'Access-Control-Allow-Origin': page }) };
      sendAnswer(response, { ...answer, headers } as Answer, randomUUID());
    };
    this.answer(call, request, open, isAllowed).then(send, (error: unknown) => send(this.answerToFailure(error)));
  }

  private async answer(
    call: TagCall,
    request: IncomingMessage,
    open: LoadedSite | undefined,
    isAllowed: boolean,
  ): Promise<Counted> {
    if (!this.origin.isSecure(request)) return HTTPS_REQUIRED;
    if (!open) return NO_SITE;
    if (request.method === 'OPTIONS' && isAllowed) return PREFLIGHT;
    if (request.method !== 'POST') return NOT_POSTED;
    if (!isAllowed) return NOT_ALLOWED;
    const nowMs = Date.now();
    const address = this.origin.address(request);
    if (!this.rate.allows(open.site.host, address, nowMs)) return TOO_MANY;
    const { headers } = request;
    if (!CONTENT_TYPE.test(headers['content-type'] ?? '') || headers['content-encoding'] !== undefined)
      return WRONG_TYPE;
    const body = await readBody(request, BODY_MAX_BYTES);
    if (!body) return TOO_LARGE;
    const message = readTagMessage(parseStrictJson(body), nowMs);
    if (!message) return NOT_OURS;
    const requests = decideVisit(call, message, this.signals(request, address), open, this.judge);
    await Promise.all(requests.map((each) => this.log.append(each)));
    return TAKEN;
  }

  private signals(request: IncomingMessage, ip: string | undefined): RequestSignals {
    const { headers } = request;
    const country = this.countryHeader && this.origin.forwarded(request, this.countryHeader);
    return {
      userAgent: headers['user-agent']?.slice(0, USER_AGENT_MAX) ?? '',
      headers: {
        acceptLanguage: headers['accept-language'] !== undefined,
        secFetch: headers['sec-fetch-mode'] !== undefined,
      },
      ...(ip !== undefined && { ip }),
      ...(country && { country: country.toUpperCase().slice(0, 2) }),
    };
  }

  private answerToFailure(error: unknown): Counted {
    if (error instanceof MalformedBody) return refused(400, error.message, 'malformed');
    if (error instanceof LogUnavailable) return UNAVAILABLE;
    this.logger.error('A call of the tag failed', { error: messageOf(error), stack: (error as Error).stack });
    return OUR_FAULT;
  }
}

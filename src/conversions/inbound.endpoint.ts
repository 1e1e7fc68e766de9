import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type Answer, failureAnswer, JSON_TYPE, jsonAnswer, sendAnswer, textAnswer } from '../http/answer.js';
import { HotRoutes } from '../http/hot-routes.js';
import { readBody } from '../http/read-body.js';
import { RequestOrigin } from '../http/request-origin.js';
import { MalformedBody, parseStrictJson } from '../http/strict-json.js';
import { CLOCK, type Clock } from '../kernel/clock.js';
import { LogUnavailable, messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import type { SiteKey } from '../sites/site.js';
import { type LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import { correctionProblem } from './correction.js';
import { readInboundFields } from './inbound-fields.js';
import { InboundMetrics, type InboundOutcome } from './inbound-metrics.js';
import { INBOUND_PATH, type InboundRoute, isJsonContentType, routeInbound } from './inbound-route.js';
import { Receipts } from './receipts.js';
import { ReceiveConversion, type Received } from './receive-conversion.command.js';

/** Long enough for a database failover, short enough that the conversion is not delayed much. */
const RETRY_AFTER = { 'Retry-After': '2' };

type CountedAnswer = Answer & { readonly outcome?: InboundOutcome };

const HTTPS_REQUIRED: CountedAnswer = { ...textAnswer(403, 'HTTPS required'), outcome: 'malformed' };
const NOT_FOUND: CountedAnswer = textAnswer(404, `Not found. Conversions are posted to ${INBOUND_PATH}.`);
const NOT_ENABLED: CountedAnswer = { ...failureAnswer(403, 'Inbound webhook not enabled'), outcome: 'disabled' };
const INVALID_KEY: CountedAnswer = { ...failureAnswer(401, 'Invalid API key'), outcome: 'unauthorized' };
const NO_CONVERSION: CountedAnswer = failureAnswer(404, 'Conversion not found');
const NOT_JSON: CountedAnswer = {
  ...textAnswer(415, 'Send the body as application/json in UTF-8, without Content-Encoding.'),
  outcome: 'malformed',
};
const UNAVAILABLE: CountedAnswer = {
  ...failureAnswer(503, 'Temporarily unavailable: send the conversion again', RETRY_AFTER),
  outcome: 'unavailable',
};
const INTERNAL_ERROR: CountedAnswer = {
  ...failureAnswer(500, 'Internal error: send the conversion again', RETRY_AFTER),
  outcome: 'unavailable',
};

/** The authenticated sender. */
interface Caller {
  readonly loadedSite: LoadedSite;
  readonly key: SiteKey;
}

/**
 * `POST /__cc/inbound`, and `GET` of its receipts. The checks run in the order that the API documents; the body is read only
 * after the key was accepted.
 */
@Injectable()
export class InboundEndpoint implements OnModuleInit {
  private readonly origin: RequestOrigin;
  private readonly tooLarge: CountedAnswer;

  constructor(
    private readonly hotRoutes: HotRoutes,
    private readonly commands: CommandBus,
    private readonly sites: SiteDirectory,
    private readonly receipts: Receipts,
    private readonly metrics: InboundMetrics,
    private readonly logger: Logger,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    const text = `The body is larger than ${settings.maxBodyBytes} bytes. Send one conversion per request.`;
    this.tooLarge = { ...textAnswer(413, text), outcome: 'malformed' };
  }

  onModuleInit(): void {
    this.hotRoutes.add(INBOUND_PATH, (request, response) => this.handle(request, response));
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const send = (answer: CountedAnswer) => {
      if (answer.outcome) this.metrics.count(answer.outcome);
      sendAnswer(response, answer, randomUUID());
    };
    this.answer(request).then(send, (error: unknown) => send(this.answerToFailure(error)));
  }

  private async answer(request: IncomingMessage): Promise<CountedAnswer> {
    if (!this.origin.isSecure(request)) return HTTPS_REQUIRED;
    const route = routeInbound(request.method, request.url as string);
    if (route.kind === 'unknown') return NOT_FOUND;
    if (route.kind === 'refused') return methodNotAllowed(route.allow);
    // After a freeze or a lost database connection, the log may hold a key's revocation that this process has not read.
    if (!this.sites.isFresh()) await this.sites.refresh();
    const caller = this.authenticate(request);
    if ('status' in caller) return caller;
    if (route.kind === 'receipt') return this.showReceipt(route, caller);
    const { headers } = request;
    if (!isJsonContentType(headers['content-type']) || headers['content-encoding'] !== undefined) return NOT_JSON;
    const body = await readBody(request, this.settings.maxBodyBytes);
    if (!body) return this.tooLarge;
    const reading = readInboundFields(parseStrictJson(body), body, this.clock);
    if (!reading.ok) return { ...failureAnswer(400, reading.error), outcome: 'invalid' };
    const { loadedSite, key } = caller;
    const problem = correctionProblem(loadedSite, reading.fields);
    if (problem !== undefined) return { ...failureAnswer(400, problem), outcome: 'invalid' };
    return received(await this.commands.execute(new ReceiveConversion(loadedSite, key, reading.fields, this.settings)));
  }

  /** Finds the site by host, then checks the key. */
  private authenticate(request: IncomingMessage): Caller | CountedAnswer {
    const loadedSite = this.sites.find(this.origin.host(request));
    if (!loadedSite?.site.inbound) return NOT_ENABLED;
    const header = request.headers['x-cc-api-key'];
    const verdict = this.sites.checkKey(loadedSite, typeof header === 'string' ? header : undefined);
    if (verdict.ok) return { loadedSite, key: verdict.key };
    if (verdict.retryAfterS === undefined) return INVALID_KEY;
    const headers = { 'Retry-After': String(verdict.retryAfterS) };
    return { ...failureAnswer(429, 'Too many failed authentication attempts', headers), outcome: 'throttled' };
  }

  private async showReceipt(
    route: InboundRoute & { kind: 'receipt' },
    { loadedSite, key }: Caller,
  ): Promise<CountedAnswer> {
    const { host } = loadedSite.site;
    const found =
      'id' in route
        ? await this.receipts.byId(host, route.id)
        : await this.receipts.byOrder(loadedSite, key.trial, route.orderId, route.event);
    return found ? jsonAnswer(200, found.receipt, { 'X-CC-Conversion-Id': found.conversionId }) : NO_CONVERSION;
  }

  private answerToFailure(error: unknown): CountedAnswer {
    if (error instanceof MalformedBody) return { ...textAnswer(400, error.message), outcome: 'malformed' };
    if (error instanceof LogUnavailable) return UNAVAILABLE;
    this.logger.error('Inbound request failed', {
      error: messageOf(error),
      stack: (error as Error).stack,
    });
    return INTERNAL_ERROR;
  }
}

function methodNotAllowed(allow: string): CountedAnswer {
  return { ...textAnswer(405, `Use ${allow} here.`, { Allow: allow }), outcome: 'malformed' };
}

function received({ conversionId, firstConversionId, receipt, correction, warning }: Received): CountedAnswer {
  const headers: Record<string, string> = { 'X-CC-Conversion-Id': conversionId };
  if (firstConversionId) headers['X-CC-First-Conversion-Id'] = firstConversionId;
  if (warning) headers['X-CC-Warning'] = warning;
  const counted = correction ? 'corrected' : 'received';
  const outcome = 'deduped' in receipt ? 'deduplicated' : 'filtered' in receipt ? 'filtered' : counted;
  return { status: 200, type: JSON_TYPE, body: JSON.stringify(receipt), headers, outcome };
}

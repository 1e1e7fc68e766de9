import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { failureAnswer, jsonAnswer, sendAnswer } from '../../http/answer.js';
import { HotRoutes } from '../../http/hot-routes.js';
import { readBody } from '../../http/read-body.js';
import { RequestOrigin } from '../../http/request-origin.js';
import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import { CLOCK, type Clock } from '../../kernel/clock.js';
import { LogUnavailable, messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { readTraceparent } from '../../kernel/traceparent.js';
import { isClosed, isHeld } from '../../sites/site.js';
import { SiteDirectory } from '../../sites/site-directory.js';
import { Tracing } from '../../tracing/tracing.js';
import { correctionProblem } from '../correction.js';
import { Receipts } from '../receipts.js';
import { ReceiveConversion, type Received, type RequestTrace, traceFieldsOf } from '../receive-conversion.command.js';
import { Rejections } from '../rejections.js';
import {
  type Caller,
  type CountedAnswer,
  HTTPS_REQUIRED,
  INTERNAL_ERROR,
  INVALID_KEY,
  malformed,
  methodNotAllowed,
  NO_CONVERSION,
  NOT_ENABLED,
  NOT_FOUND,
  NOT_JSON,
  throttled,
  tooLarge,
  UNAVAILABLE,
} from './inbound-answers.js';
import { InboundBatch } from './inbound-batch.js';
import { siteReading } from './inbound-field.js';
import { readInboundFields } from './inbound-fields.js';
import { InboundMetrics, outcomeOf } from './inbound-metrics.js';
import { BATCH_PATH, INBOUND_PATH, type InboundRoute, isJsonContentType, routeInbound } from './inbound-route.js';

/**
 * `POST /__cc/inbound` and `/__cc/inbound/batch`, and `GET` of receipts. The checks run in the order that the API documents; the body is read only
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
    private readonly batch: InboundBatch,
    private readonly metrics: InboundMetrics,
    private readonly rejections: Rejections,
    private readonly logger: Logger,
    private readonly tracing: Tracing,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.tooLarge = tooLarge(settings.maxBodyBytes, 'Send one conversion per request.');
  }

  onModuleInit(): void {
    this.hotRoutes.add(INBOUND_PATH, (request, response) => this.handle(request, response), { andBelow: true });
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
    const caller = await this.authenticate(request);
    if ('status' in caller) return caller;
    if (route.kind === 'receipt') return this.showReceipt(route, caller);
    // The append refuses it in any case. Here the body is not even read.
    if (isHeld(caller.loadedSite.site)) return UNAVAILABLE;
    const trace = this.startTrace(request, caller, route.kind === 'batch' ? BATCH_PATH : INBOUND_PATH);
    const answer = await this.answerPost(request, trace ? { ...caller, trace } : caller, route.kind === 'batch');
    if (trace?.span) {
      const { status, outcome } = answer;
      trace.span.end({ 'http.response.status_code': status, ...(outcome && { 'cc.outcome': outcome }) }, status >= 500);
    }
    if (answer.rejection) this.rejections.count(caller, answer.rejection);
    return answer;
  }

  private async answerPost(request: IncomingMessage, caller: Caller, isBatch: boolean): Promise<CountedAnswer> {
    try {
      return await (isBatch
        ? this.batch.answer(request, caller, () => this.callerOfBody(request, caller))
        : this.receive(request, caller));
    } catch (error) {
      return this.answerToFailure(error, caller.trace);
    }
  }

  /** Only of authenticated requests: others could fill the queue of spans. */
  private startTrace(
    { headers, method = '' }: IncomingMessage,
    { loadedSite }: Caller,
    path: string,
  ): RequestTrace | undefined {
    const traceparent = readTraceparent(headers['traceparent']);
    if (!this.tracing.isOn) return traceparent === undefined ? undefined : { traceparent, span: undefined };
    const attributes = { 'http.request.method': method, 'http.route': path, 'cc.site': loadedSite.site.host };
    const span = this.tracing.start({ name: `${method} ${path}`, kind: 'server', attributes }, traceparent);
    return { traceparent, span };
  }

  private async receive(request: IncomingMessage, sender: Caller): Promise<CountedAnswer> {
    const { headers } = request;
    if (!isJsonContentType(headers['content-type']) || headers['content-encoding'] !== undefined) return NOT_JSON;
    const body = await readBody(request, this.settings.maxBodyBytes);
    if (!body) return this.tooLarge;
    const caller = await this.callerOfBody(request, sender);
    if ('status' in caller) return caller;
    const { loadedSite, key, trace } = caller;
    const { clock } = this;
    const reading = readInboundFields(parseStrictJson(body), { rawBody: body, clock, ...siteReading(loadedSite.site) });
    if (!reading.ok) return { ...failureAnswer(400, reading.error), outcome: 'invalid', rejection: reading.reason };
    const problem = correctionProblem(loadedSite, reading.fields);
    if (problem !== undefined) return { ...failureAnswer(400, problem), outcome: 'invalid', rejection: 'orderId' };
    this.metrics.countUnused(reading.fields);
    const command = new ReceiveConversion(loadedSite, key, reading.fields, this.settings, trace);
    return received(await this.commands.execute(command));
  }

  /**
   * The sender, once the body has arrived. A client may take seconds to send it, and what was changed meanwhile is in force: its key
   * may be revoked, and a platform connected.
   */
  private async callerOfBody(request: IncomingMessage, caller: Caller): Promise<Caller | CountedAnswer> {
    // A site that has changed is loaded anew.
    if (this.sites.isFresh() && this.sites.find(caller.loadedSite.site.host) === caller.loadedSite) return caller;
    const now = await this.authenticate(request);
    if ('status' in now) return now;
    return isHeld(now.loadedSite.site) ? UNAVAILABLE : { ...caller, ...now };
  }

  /** Finds the site by host, then checks the key. */
  private async authenticate(request: IncomingMessage): Promise<Caller | CountedAnswer> {
    // After a freeze or a lost database connection, the log may hold a key's revocation that this process has not read.
    if (!this.sites.isFresh()) await this.sites.refresh();
    const loadedSite = this.sites.find(this.origin.host(request));
    // Another cell checks its keys, and counts the wrong ones.
    if (loadedSite && isClosed(loadedSite.site)) return UNAVAILABLE;
    if (!loadedSite?.site.inbound) return NOT_ENABLED;
    const header = request.headers['x-cc-api-key'];
    const verdict = this.sites.checkKey(loadedSite, typeof header === 'string' ? header : undefined);
    if (verdict.ok) return { loadedSite, key: verdict.key };
    return verdict.retryAfterS === undefined ? INVALID_KEY : throttled(verdict.retryAfterS);
  }

  private async showReceipt(
    route: InboundRoute & { kind: 'receipt' },
    { loadedSite, key }: Caller,
  ): Promise<CountedAnswer> {
    const found =
      'id' in route
        ? await this.receipts.byId(loadedSite, key.trial, route.id)
        : await this.receipts.byOrder(loadedSite, key.trial, route.orderId, route.event);
    return found ? jsonAnswer(200, found.receipt, { 'X-CC-Conversion-Id': found.conversionId }) : NO_CONVERSION;
  }

  private answerToFailure(error: unknown, trace?: RequestTrace): CountedAnswer {
    if (error instanceof MalformedBody) return malformed(error);
    if (error instanceof LogUnavailable) return UNAVAILABLE;
    this.logger.error('Inbound request failed', {
      error: messageOf(error),
      stack: (error as Error).stack,
      ...traceFieldsOf(trace),
    });
    return INTERNAL_ERROR;
  }
}

function received({ conversionId, firstConversionId, receipt, correction, warnings }: Received): CountedAnswer {
  const headers: Record<string, string> = { 'X-CC-Conversion-Id': conversionId };
  if (firstConversionId) headers['X-CC-First-Conversion-Id'] = firstConversionId;
  if (warnings) headers['X-CC-Warning'] = warnings.join('; ');
  return { ...jsonAnswer(200, receipt, headers), outcome: outcomeOf(receipt, correction) };
}

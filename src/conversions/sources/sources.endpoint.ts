import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { type Answer, failureAnswer, jsonAnswer, sendAnswer } from '../../http/answer.js';
import { HotRoutes } from '../../http/hot-routes.js';
import { readBody } from '../../http/read-body.js';
import { RequestOrigin } from '../../http/request-origin.js';
import { CLOCK, type Clock } from '../../kernel/clock.js';
import { LogUnavailable, messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import { readTraceparent } from '../../kernel/traceparent.js';
import { EventLog } from '../../log/event-log.js';
import { isClosed, isHeld } from '../../sites/site.js';
import { type LoadedSite, SiteDirectory } from '../../sites/site-directory.js';
import { type LoadedSource, secretsAt } from '../../sites/sources/loaded-source.js';
import type { RawDelivery, SignatureProblem } from '../../sources/source.js';
import { BatchSlots } from '../inbound/batch-slots.js';
import {
  HTTPS_REQUIRED,
  INTERNAL_ERROR,
  methodNotAllowed,
  NOT_ENABLED,
  throttled,
  tooLarge,
  UNAVAILABLE,
} from '../inbound/inbound-answers.js';
import { RefusedDeliveries } from './refused-deliveries.js';
import { SourceDeliveries } from './source-deliveries.js';
import { deliveryOf } from './source-delivery.js';
import { type Refusal, SourceMetrics } from './source-metrics.js';
import { routeSource, SOURCES_PATH } from './source-route.js';

export const BODY_MAX = 1_048_576;
/** The form of a delivery is stored once in this time for each topic: it changes with versions of the sender only. */
const SHAPE_EVERY_MS = 60_000;
const TOPICS_WITH_SHAPE_MAX = 10_000;

export const UNKNOWN_SOURCE_TEXT = 'No such source of this site';
export const SIGNATURE_TEXTS: Readonly<Record<SignatureProblem, string>> = {
  signature_missing: 'The signature is missing',
  signature: 'The signature is wrong',
  expired: 'The signature has expired',
};
const UNKNOWN_SOURCE = failureAnswer(404, UNKNOWN_SOURCE_TEXT);
const NO_SECRET = failureAnswer(401, 'The source has no secret yet');
const MALFORMED = failureAnswer(400, 'The body is not a delivery of this source');
const TOO_LARGE = tooLarge(BODY_MAX, 'Send fewer fields.');

interface Caller {
  readonly loadedSite: LoadedSite;
  readonly source: LoadedSource;
}

/**
 * `POST /__cc/sources/<source>/<key id>`: webhooks of shops and tools. The address is no secret, so that nothing is believed before
 * the signature is verified; an authentic delivery is acknowledged once it is in the log, whatever becomes of it.
 */
@Injectable()
export class SourcesEndpoint implements OnModuleInit {
  private readonly origin: RequestOrigin;
  private readonly deliveries: SourceDeliveries;
  /** Bounds the memory of large bodies: whoever knows the address can send them. */
  private readonly slots = new BatchSlots();
  /** When the form of a delivery was stored last, by connection and topic. */
  private readonly shapes = new Map<string, number>();

  constructor(
    private readonly hotRoutes: HotRoutes,
    private readonly commands: CommandBus,
    private readonly sites: SiteDirectory,
    private readonly metrics: SourceMetrics,
    private readonly refused: RefusedDeliveries,
    private readonly logger: Logger,
    log: EventLog,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
    this.deliveries = new SourceDeliveries({
      log,
      clock,
      rules: settings,
      receive: (command) => this.commands.execute(command),
    });
  }

  onModuleInit(): void {
    this.hotRoutes.add(SOURCES_PATH, (request, response) => this.handle(request, response), { andBelow: true });
  }

  private handle(request: IncomingMessage, response: ServerResponse): void {
    const send = (answer: Answer) => sendAnswer(response, answer, randomUUID());
    this.answer(request).then(send, (error: unknown) => send(this.answerToFailure(error)));
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    if (!this.origin.isSecure(request)) return HTTPS_REQUIRED;
    const route = routeSource(request.url as string);
    if (!route) return UNKNOWN_SOURCE;
    if (request.method !== 'POST') return methodNotAllowed('POST');
    const found = await this.find(request, route);
    if ('answer' in found) return this.refuse(route.source, found.reason, found.answer);
    const body = await this.readBody(request, found);
    if ('status' in body) return body;
    // What was changed while the body arrived is in force. A site that has changed is loaded anew.
    const isUnchanged = this.sites.isFresh() && this.sites.find(found.loadedSite.site.host) === found.loadedSite;
    const caller = isUnchanged ? found : await this.find(request, route);
    if ('answer' in caller) return this.refuse(route.source, caller.reason, caller.answer);
    return this.receiveDelivery(caller, { headers: request.headers, body }, request);
  }

  private async readBody(request: IncomingMessage, { loadedSite, source }: Caller): Promise<Buffer | Answer> {
    const { host } = loadedSite.site;
    const length = Number(request.headers['content-length'] ?? BODY_MAX);
    const isSmall = length <= this.settings.maxBodyBytes;
    const leave = isSmall ? () => {} : this.slots.enter(host);
    if (!leave) return this.refuse(source.source.name, 'unavailable', UNAVAILABLE);
    // The body of a client that disconnects is never read to its end.
    request.once('close', leave);
    const body = await readBody(request, BODY_MAX);
    leave();
    if (body) return body;
    this.refused.count(host, source, 'too_large');
    return TOO_LARGE;
  }

  private async receiveDelivery(caller: Caller, raw: RawDelivery, request: IncomingMessage): Promise<Answer> {
    const { loadedSite, source } = caller;
    const { host } = loadedSite.site;
    if (source.source.isProbe?.(raw)) return jsonAnswer(200, { ok: true });
    const problem = this.verify(source, raw);
    if (problem !== undefined) {
      const retryAfterS = this.sites.refuseDelivery(loadedSite);
      this.refused.count(host, source, retryAfterS === undefined ? problem : 'throttled');
      if (retryAfterS !== undefined) return throttled(retryAfterS);
      return failureAnswer(source.source.refusalStatus, SIGNATURE_TEXTS[problem]);
    }
    const json = parse(raw.body);
    const head = json && source.source.head(raw, json);
    if (!head) {
      this.refused.count(host, source, 'malformed');
      return MALFORMED;
    }
    if (!source.mapping) return UNAVAILABLE;
    const withShape = this.needsShape(source, head.topic);
    const delivery = deliveryOf(loadedSite, source, head, raw, json, this.clock, withShape);
    if (!delivery) {
      // Senders repeat what is not answered with 200, and end by removing the webhook.
      this.refused.count(host, source, 'topic', head.topic);
      return jsonAnswer(200, { ok: true, outcome: 'unknown_topic' });
    }
    const traceparent = readTraceparent(request.headers['traceparent']);
    const trace = traceparent === undefined ? undefined : { traceparent, span: undefined };
    const result = await this.deliveries.store(loadedSite, source, delivery, trace);
    this.metrics.count(source.source.name, result.outcome);
    if (result.outcome === 'repeated') this.refused.count(host, source, 'repeated');
    const { conversionId } = result;
    return jsonAnswer(
      200,
      { ok: true, ...result },
      conversionId === undefined ? {} : { 'X-CC-Conversion-Id': conversionId },
    );
  }

  /** The problem of the current secret, unless the one before it verifies the delivery. */
  private verify(source: LoadedSource, raw: RawDelivery): SignatureProblem | undefined {
    const nowMs = this.clock.nowMs();
    const problems = secretsAt(source, nowMs).map((secret) => source.source.verify(raw, secret, nowMs));
    return problems.includes(undefined) ? undefined : (problems.find((each) => each === 'expired') ?? problems[0]);
  }

  private async find(
    request: IncomingMessage,
    { source: name, keyId }: { readonly source: string; readonly keyId: string },
  ): Promise<Caller | { readonly answer: Answer; readonly reason: Refusal }> {
    // After a freeze or a lost database connection, the log may have a change that this process has not read.
    if (!this.sites.isFresh()) await this.sites.refresh();
    const loadedSite = this.sites.find(this.origin.host(request));
    if (loadedSite && isClosed(loadedSite.site)) return { answer: UNAVAILABLE, reason: 'unavailable' };
    if (!loadedSite?.site.inbound) return { answer: NOT_ENABLED, reason: 'disabled' };
    const source = loadedSite.sources.get(keyId);
    if (!source || source.source.name !== name) return { answer: UNKNOWN_SOURCE, reason: 'unknown_key' };
    if (isHeld(loadedSite.site)) return { answer: UNAVAILABLE, reason: 'unavailable' };
    if (source.secrets['secret'] === undefined) return { answer: NO_SECRET, reason: 'no_secret' };
    return { loadedSite, source };
  }

  private refuse(source: string, reason: Refusal, answer: Answer): Answer {
    this.metrics.refuse(source, reason);
    return answer;
  }

  private needsShape({ connection: { keyId } }: LoadedSource, topic: string): boolean {
    const key = `${keyId} ${topic}`;
    const nowMs = this.clock.nowMs();
    const last = this.shapes.get(key);
    if (last !== undefined && Math.abs(nowMs - last) < SHAPE_EVERY_MS) return false;
    if (this.shapes.size >= TOPICS_WITH_SHAPE_MAX) this.shapes.clear();
    this.shapes.set(key, nowMs);
    return true;
  }

  private answerToFailure(error: unknown): Answer {
    if (error instanceof LogUnavailable) return UNAVAILABLE;
    this.logger.error('A delivery of a source failed', { error: messageOf(error), stack: (error as Error).stack });
    return INTERNAL_ERROR;
  }
}

/** Verified before: its sender is known, and numbers of any size and keys of any name do no harm where they are read by pointers. */
function parse(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

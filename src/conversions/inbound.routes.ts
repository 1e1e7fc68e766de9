import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LogUnavailable, messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { RequestOrigin } from '../kernel/request-origin.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { normaliseHost } from '../sites/host.js';
import type { SiteKey } from '../sites/site.js';
import { type OpenSite, SiteDirectory } from '../sites/site-directory.js';
import { readInboundFields } from './inbound-fields.js';
import { InboundMetrics, type InboundOutcome } from './inbound-metrics.js';
import { isJsonContentType } from './json-content-type.js';
import type { Receipt } from './receipt.js';
import { Receipts } from './receipts.js';
import { ReceiveConversion } from './receive-conversion.js';
import { MalformedBody, parseStrictJson } from './strict-json.js';

const PATH = '/__cc/inbound';
const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
/** Long enough for a database to come back, short enough that a conversion is not late. */
const RETRY_AFTER_S = 2;

/** Who is asking, once the key has been judged. */
interface Caller {
  readonly open: OpenSite;
  readonly key: SiteKey;
}

interface InboundRequest extends FastifyRequest {
  caller: Caller | null;
}

/**
 * `POST /__cc/inbound`, and the questions about its receipts. It is the one hot route of the service and therefore
 * registered on Fastify itself. The checks run in the order of the contract; up to the key none has read the body.
 */
@Injectable()
export class InboundRoutes implements OnModuleInit {
  private readonly origin: RequestOrigin;

  constructor(
    private readonly adapter: HttpAdapterHost,
    private readonly commands: CommandBus,
    private readonly sites: SiteDirectory,
    private readonly receipts: Receipts,
    private readonly metrics: InboundMetrics,
    private readonly logger: Logger,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    this.origin = new RequestOrigin(settings.trustedProxies);
  }

  async onModuleInit(): Promise<void> {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    await fastify.register(async (scope) => this.register(scope));
  }

  private register(scope: FastifyInstance): void {
    scope.decorateRequest('caller', null);
    // Nest's parsers would read the body before we know whose it is, and answer in another shape.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: this.settings.maxBodyBytes }, (_request, body, done) =>
      done(null, body),
    );
    scope.setErrorHandler((error: FastifyError, _request, reply) => this.answerFailure(error, reply));
    scope.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', randomUUID());
      if (this.origin.isSecure(request.raw)) done();
      else this.refusePlainly(reply, 403, 'HTTPS required', 'malformed');
    });

    const authenticate = { onRequest: (request: FastifyRequest, reply: FastifyReply) => this.authenticate(request as InboundRequest, reply) };
    scope.post(PATH, { ...authenticate, preParsing: (request, reply, _payload, done) => this.checkContentType(request, reply, done) }, (request, reply) =>
      this.receive(request as InboundRequest, reply),
    );
    scope.get<{ Params: { id: string } }>(`${PATH}/:id`, authenticate, async (request, reply) => {
      const { open } = (request as unknown as InboundRequest).caller as Caller;
      return this.showReceipt(reply, await this.receipts.byId(open.site.host, request.params.id));
    });
    scope.get<{ Querystring: { orderId?: string; event?: string } }>(
      PATH,
      {
        onRequest: (request, reply) => {
          // Without an order there is nothing to look up: then this path is for posting only.
          if (typeof request.query.orderId !== 'string') return this.refuseMethod(reply, 'POST');
          return this.authenticate(request as unknown as InboundRequest, reply);
        },
      },
      async (request, reply) => {
        const { open } = (request as unknown as InboundRequest).caller as Caller;
        const { orderId, event } = request.query;
        return this.showReceipt(reply, await this.receipts.byOrder(open.site.host, orderId as string, event));
      },
    );
    for (const [url, allow] of [[PATH, 'POST'], [`${PATH}/:id`, 'GET']] as const) {
      const method = ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', ...(allow === 'GET' ? ['POST'] : [])];
      scope.route({ method, url, onRequest: (_request, reply) => this.refuseMethod(reply, allow), handler: () => {} });
    }
  }

  /** The site that owns the host, then the key. */
  private async authenticate(request: InboundRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
    if (!this.sites.isFresh()) await this.sites.refresh();
    const open = this.sites.find(normaliseHost(this.origin.host(request.raw)));
    if (!open?.site.inbound) return this.refuse(reply, 403, 'Inbound webhook not enabled', 'disabled');
    const header = request.headers['x-cc-api-key'];
    const verdict = this.sites.judgeKey(open, typeof header === 'string' ? header : undefined, Date.now());
    if (verdict.ok) {
      request.caller = { open, key: verdict.key };
      return undefined;
    }
    if (verdict.retryAfterS === undefined) return this.refuse(reply, 401, 'Invalid API key', 'unauthorized');
    reply.header('retry-after', verdict.retryAfterS);
    return this.refuse(reply, 429, 'Too many failed authentication attempts', 'throttled');
  }

  private checkContentType(request: FastifyRequest, reply: FastifyReply, done: (error?: Error | null) => void): void {
    const { headers } = request;
    if (isJsonContentType(headers['content-type']) && headers['content-encoding'] === undefined) return done();
    this.refusePlainly(reply, 415, 'Send the body as application/json in UTF-8, without Content-Encoding.', 'malformed');
  }

  private async receive(request: InboundRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { open, key } = request.caller as Caller;
    const body = (request.body ?? Buffer.alloc(0)) as Buffer;
    const reading = readInboundFields(parseStrictJson(body), body);
    if (!reading.ok) return this.refuse(reply, 400, reading.error, 'invalid');
    const command = new ReceiveConversion(open, key, reading.fields, this.settings.dedupWindowMs);
    const { conversionId, firstConversionId, receipt } = await this.commands.execute(command);
    this.metrics.count(outcomeOf(receipt));
    reply.header('x-cc-conversion-id', conversionId);
    if (firstConversionId) reply.header('x-cc-first-conversion-id', firstConversionId);
    return reply.type(JSON_TYPE).send(JSON.stringify(receipt));
  }

  private showReceipt(reply: FastifyReply, found: { conversionId: string; receipt: Receipt } | undefined): FastifyReply {
    if (!found) return reply.code(404).type(JSON_TYPE).send(failure('Conversion not found'));
    return reply.header('x-cc-conversion-id', found.conversionId).type(JSON_TYPE).send(JSON.stringify(found.receipt));
  }

  private answerFailure(error: FastifyError, reply: FastifyReply): FastifyReply {
    if (error instanceof MalformedBody) return this.refusePlainly(reply, 400, error.message, 'malformed');
    if (error.statusCode === 413) {
      const text = `The body is larger than ${this.settings.maxBodyBytes} bytes. Send one conversion per request.`;
      return this.refusePlainly(reply, 413, text, 'malformed');
    }
    if (error.statusCode && error.statusCode < 500) return this.refusePlainly(reply, error.statusCode, error.message, 'malformed');
    reply.header('retry-after', RETRY_AFTER_S);
    if (error instanceof LogUnavailable) {
      return this.refuse(reply, 503, 'Temporarily unavailable: send the conversion again', 'unavailable');
    }
    this.logger.error('A conversion could not be handled', { error: messageOf(error), stack: error.stack });
    return this.refuse(reply, 500, 'Internal error: send the conversion again', 'unavailable');
  }

  private refuse(reply: FastifyReply, status: number, error: string, outcome: InboundOutcome): FastifyReply {
    this.metrics.count(outcome);
    return reply.code(status).type(JSON_TYPE).send(failure(error));
  }

  private refusePlainly(reply: FastifyReply, status: number, text: string, outcome: InboundOutcome): FastifyReply {
    this.metrics.count(outcome);
    return reply.code(status).type(TEXT_TYPE).send(text);
  }

  private async refuseMethod(reply: FastifyReply, allow: string): Promise<FastifyReply> {
    reply.header('allow', allow);
    return this.refusePlainly(reply, 405, `Use ${allow} here.`, 'malformed');
  }
}

function failure(error: string): string {
  return JSON.stringify({ ok: false, error });
}

function outcomeOf(receipt: Receipt): InboundOutcome {
  if ('deduped' in receipt) return 'deduplicated';
  return 'filtered' in receipt ? 'filtered' : 'received';
}

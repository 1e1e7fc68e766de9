import { hash } from 'node:crypto';
import {
  BadRequestException,
  type CallHandler,
  ConflictException,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UnprocessableEntityException,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Sealer } from '../kernel/sealing.js';
import { Postgres } from '../postgres/postgres.js';
import { IdempotencyKeys } from '../users/idempotency-keys.js';
import type { AdminRequest } from './access.decorators.js';
import { isRefusal } from './problem.filter.js';

export const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x7e]{1,255}$';

/** Of what is stored about an answer. Earlier versions stored its body alone. */
const STORED_FORMAT = 2;

interface Stored {
  readonly request: Buffer;
  readonly status: number | null;
  readonly answer: Buffer | null;
}

/** What is repeated. */
interface Answer {
  readonly body: unknown;
  readonly cookie: string | string[] | number | undefined;
}

/** Carries out a write with an `Idempotency-Key` once, and repeats its answer for a day. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly postgres: Postgres,
    private readonly sealer: Sealer,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<AdminRequest>();
    const key = request.headers['idempotency-key'];
    const { principal } = request;
    if (key === undefined || !principal || ['GET', 'HEAD'].includes(request.method)) return next.handle();
    if (typeof key !== 'string' || !new RegExp(IDEMPOTENCY_KEY_PATTERN).test(key))
      throw new BadRequestException('Idempotency-Key: send 1 to 255 visible ASCII characters.');
    const reply = http.getResponse<FastifyReply>();
    const { actor } = principal;
    return from(this.once(actor, key, request, reply, next));
  }

  private async once(
    actor: string,
    key: string,
    request: AdminRequest,
    reply: FastifyReply,
    next: CallHandler,
  ): Promise<unknown> {
    const stored = await this.start(actor, key, request);
    if (stored) return this.repeat(actor, key, stored, reply);
    let body: unknown;
    try {
      body = await lastValueFrom(next.handle(), { defaultValue: undefined });
    } catch (error) {
      // A write that was refused has changed nothing, so the key can be used again. After any other error it may have.
      if (isRefusal(error)) await this.forget(actor, key);
      throw error;
    }
    await this.finish(actor, key, reply.statusCode, { body, cookie: reply.getHeader('set-cookie') });
    return body;
  }

  /** Undefined if the request is to be carried out now. */
  private async start(actor: string, key: string, request: AdminRequest): Promise<Stored | undefined> {
    // The service also does so from time to time; a key must not be found any longer because it has not yet.
    await new IdempotencyKeys(this.postgres).clean();
    const { rowCount } = await this.postgres.pool.query(
      'INSERT INTO idempotency_keys (actor, key, request, site) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      // Sealed: with a plain digest, a guess of the email address in the body of an erasure could be confirmed.
      [actor, key, this.sealer.seal(digestOf(request), labelOf(actor, key)), siteOf(request)],
    );
    if (rowCount === 1) return undefined;
    const { rows } = await this.postgres.pool.query<Stored>(
      'SELECT request, status, answer FROM idempotency_keys WHERE actor = $1 AND key = $2',
      [actor, key],
    );
    const [stored] = rows;
    // Forgotten in between, because the other request was refused.
    if (!stored) throw new ConflictException('A request with this Idempotency-Key has just failed. Send it again.');
    if (!this.sealer.tryOpen(stored.request, labelOf(actor, key))?.plain.equals(digestOf(request)))
      throw new UnprocessableEntityException('This Idempotency-Key was used for another request. Use a new one.');
    return stored;
  }

  private repeat(actor: string, key: string, { status, answer }: Stored, reply: FastifyReply): unknown {
    const opened = answer && this.sealer.tryOpen(answer, labelOf(actor, key));
    if (status === null || (answer && !opened))
      throw new ConflictException(
        'A request with this Idempotency-Key is being carried out, or was interrupted. Look up what it changed, then use a new key.',
      );
    void reply.status(status).header('idempotency-replayed', 'true');
    const { body, cookie } = answerOf(opened ? opened.plain.toString() : undefined);
    // The browser may have lost it with the first answer.
    if (cookie !== undefined) void reply.header('set-cookie', cookie);
    return body;
  }

  private async finish(actor: string, key: string, status: number, { body, cookie }: Answer): Promise<void> {
    const answer =
      body === undefined && cookie === undefined
        ? null
        : this.sealer.seal(
            Buffer.from(JSON.stringify({ storedFormat: STORED_FORMAT, body, cookie })),
            labelOf(actor, key),
          );
    await this.postgres.pool.query(
      'UPDATE idempotency_keys SET status = $3, answer = $4 WHERE actor = $1 AND key = $2',
      [actor, key, status, answer],
    );
  }

  private async forget(actor: string, key: string): Promise<void> {
    await this.postgres.pool.query('DELETE FROM idempotency_keys WHERE actor = $1 AND key = $2', [actor, key]);
  }
}

function digestOf({ method, url, body }: AdminRequest): Buffer {
  return hash('sha256', JSON.stringify([method, url, body ?? null]), 'buffer');
}

/** The site in the path: with another one, which gets its host, the answer is forgotten. */
function siteOf({ params }: AdminRequest): string | undefined {
  return (params as { site?: string } | undefined)?.site;
}

function answerOf(text: string | undefined): Partial<Answer> {
  if (text === undefined) return {};
  const stored: unknown = JSON.parse(text);
  const isMarked = (stored as { storedFormat?: unknown } | null)?.storedFormat === STORED_FORMAT;
  return isMarked ? (stored as Answer) : { body: stored };
}

function labelOf(actor: string, key: string): string {
  return `idempotency ${actor} ${key}`;
}

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
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { Sealer } from '../kernel/sealing.js';
import { Postgres } from '../postgres/postgres.js';
import { IdempotencyKeys } from '../users/idempotency-keys.js';
import { ACCESS, type Access, type AdminRequest } from './access/access.decorators.js';
import { isRefusal } from './problem.filter.js';

/** Visible ASCII characters. Without `@`: keys are stored as they are, and one that has an email address would not be erased. */
export const IDEMPOTENCY_KEY_PATTERN = '^[\\x21-\\x3f\\x41-\\x7e]{1,255}$';

/** Version of the format in which an answer is stored. Earlier versions stored its body alone. */
const STORED_FORMAT = 2;

interface Stored {
  /** Empty after an erasure. */
  readonly request: Buffer;
  readonly status: number | null;
  readonly answer: Buffer | null;
}

interface Key {
  readonly actor: string;
  readonly key: string;
  /** Whose erasures delete what is stored about the request, as does another site that gets its host. */
  readonly site: string | undefined;
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
    private readonly reflector: Reflector,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<AdminRequest>();
    const key = request.headers['idempotency-key'];
    const { principal } = request;
    if (key === undefined || !principal || ['GET', 'HEAD'].includes(request.method)) return next.handle();
    if (typeof key !== 'string' || !new RegExp(IDEMPOTENCY_KEY_PATTERN).test(key))
      throw new BadRequestException('Idempotency-Key: send 1 to 255 visible ASCII characters, without @.');
    const reply = http.getResponse<FastifyReply>();
    const { actor } = principal;
    const access = this.reflector.get<Access | undefined>(ACCESS, context.getHandler());
    // An erasure would delete its own answer, which has nothing about the person.
    const isErasure = typeof access === 'object' && access.permission === 'erase';
    const { site } = request.params as { site?: string };
    return from(this.once({ actor, key, site: isErasure ? undefined : site }, request, reply, next));
  }

  private async once(key: Key, request: AdminRequest, reply: FastifyReply, next: CallHandler): Promise<unknown> {
    const stored = await this.start(key, digestOf(request));
    if (stored) return this.repeat(key, stored, reply);
    let body: unknown;
    try {
      body = await lastValueFrom(next.handle(), { defaultValue: undefined });
    } catch (error) {
      // A write that was refused has changed nothing, so the key can be used again. After any other error it may have.
      if (isRefusal(error)) await this.forget(key);
      throw error;
    }
    await this.finish(key, reply.statusCode, { body, cookie: reply.getHeader('set-cookie') });
    return body;
  }

  /** Undefined if the request is to be carried out now. */
  private async start({ actor, key, site }: Key, request: Buffer): Promise<Stored | undefined> {
    // The service also does so from time to time; a key must not be found any longer because it has not yet.
    await new IdempotencyKeys(this.postgres).clean();
    const { rowCount } = await this.postgres.pool.query(
      'INSERT INTO idempotency_keys (actor, key, request, site) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      // Sealed: with a plain digest, a guess of the email address in the body of an erasure could be confirmed.
      [actor, key, this.sealer.seal(request, labelOf(actor, key)), site ?? null],
    );
    if (rowCount === 1) return undefined;
    const { rows } = await this.postgres.pool.query<Stored>(
      'SELECT request, status, answer FROM idempotency_keys WHERE actor = $1 AND key = $2',
      [actor, key],
    );
    const [stored] = rows;
    // Forgotten in between, because the other request was refused.
    if (!stored) throw new ConflictException('A request with this Idempotency-Key has just failed. Send it again.');
    if (stored.request.length === 0)
      throw new ConflictException(
        'The answer to this Idempotency-Key was deleted, because personal data of the site was erased. Look up what the request changed, then use a new key.',
      );
    if (!this.sealer.tryOpen(stored.request, labelOf(actor, key))?.plain.equals(request))
      throw new UnprocessableEntityException('This Idempotency-Key was used for another request. Use a new one.');
    return stored;
  }

  private repeat({ actor, key }: Key, { status, answer }: Stored, reply: FastifyReply): unknown {
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

  private async finish({ actor, key }: Key, status: number, { body, cookie }: Answer): Promise<void> {
    const answer =
      body === undefined && cookie === undefined
        ? null
        : this.sealer.seal(
            Buffer.from(JSON.stringify({ storedFormat: STORED_FORMAT, body, cookie })),
            labelOf(actor, key),
          );
    await this.postgres.pool.query(
      `UPDATE idempotency_keys SET status = $3, answer = CASE WHEN request <> '' THEN $4::bytea END WHERE actor = $1 AND key = $2`,
      [actor, key, status, answer],
    );
  }

  private async forget({ actor, key }: Key): Promise<void> {
    await this.postgres.pool.query('DELETE FROM idempotency_keys WHERE actor = $1 AND key = $2', [actor, key]);
  }
}

function digestOf({ method, url, body }: AdminRequest): Buffer {
  return hash('sha256', JSON.stringify([method, url, body ?? null]), 'buffer');
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

import { STATUS_CODES } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, HttpStatus } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MalformedBody } from '../http/strict-json.js';
import { CommitUnknown, LogUnavailable, messageOf, SitePaused, TooManyRequests, UserError } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { TooBusy } from '../kernel/semaphore.js';
import { SiteCopyRefused, SiteForked } from '../log/site-copy/site-copy-errors.js';
import { SourceSilent } from '../moves/source-cell.js';
import { isDatabaseOutage, isPoolBusy } from '../postgres/outage.js';
import { optionError } from './option-error.js';

interface Problem {
  readonly status: number;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is wrong with each field of a request. */
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

export function problemBody(status: number, members: Omit<Problem, 'status' | 'headers'>): string {
  return JSON.stringify({ title: STATUS_CODES[status] ?? 'Error', status, ...members });
}

/** A request that does not match the schema of its route. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
  constructor(readonly errors: readonly { readonly field: string; readonly message: string }[]) {
    super('The request is not valid.');
  }
}

/** Answers errors as RFC 9457 describes. Server errors are logged, and their details are not sent to the caller. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    const { method, headers: sent } = http.getRequest<FastifyRequest>();
    const hasKey = sent['idempotency-key'] !== undefined && !['GET', 'HEAD'].includes(method);
    const { status, headers, ...members } = this.describe(error, hasKey);
    void reply
      .status(status)
      .headers(headers ?? {})
      .type(PROBLEM_TYPE)
      .send(problemBody(status, members));
  }

  /** `hasKey`: the key of a write that may have been carried out cannot be used again. */
  private describe(error: unknown, hasKey: boolean): Problem {
    if (error instanceof InvalidRequest)
      return { status: HttpStatus.BAD_REQUEST, detail: messageOf(error), errors: error.errors };
    if (error instanceof MalformedBody) return { status: HttpStatus.BAD_REQUEST, detail: messageOf(error) };
    if (error instanceof CommitUnknown) {
      this.logger.warn('It is unknown whether a change by the management API was stored', { error: messageOf(error) });
      return hasKey ? UNKNOWN : COMMIT_UNKNOWN;
    }
    // Also behind a UserError, whose message is for operators.
    if (isPoolBusy(error) && !hasKey) return busy('There is too much to do at the moment. Try again.');
    if (isDatabaseOutage(error)) {
      this.logger.warn('The database cannot be reached by the management API', { error: messageOf(error) });
      return hasKey ? UNKNOWN : busy('The database cannot be reached at the moment. Try again.');
    }
    if (error instanceof UserError)
      return { status: HttpStatus.UNPROCESSABLE_ENTITY, ...optionError(messageOf(error)) };
    if (error instanceof TooManyRequests) {
      const headers = { 'retry-after': String(error.retryAfterS) };
      return { status: HttpStatus.TOO_MANY_REQUESTS, detail: error.message, headers };
    }
    if (error instanceof TooBusy) return busy('Too many numbers are being added up at the moment. Try again.');
    if (error instanceof SitePaused) return { status: HttpStatus.CONFLICT, detail: error.message };
    // For the operator who moves the site.
    if (error instanceof SiteForked) return { status: HttpStatus.CONFLICT, detail: error.message };
    if (error instanceof SiteCopyRefused) return { status: HttpStatus.UNPROCESSABLE_ENTITY, detail: error.message };
    if (error instanceof SourceSilent) return busy(error.message);
    if (error instanceof LogUnavailable)
      return hasKey ? UNKNOWN : busy('The log cannot be written at the moment. Try again.');
    const status = statusOf(error);
    if (status === HttpStatus.UNAUTHORIZED)
      return { status, detail: messageOf(error), headers: { 'www-authenticate': 'Bearer' } };
    if (status < HttpStatus.INTERNAL_SERVER_ERROR) return { status, detail: messageOf(error) };
    this.logger.error('Request to the management API failed', { error: messageOf(error) });
    return { status, detail: 'The request failed because of an error in the service, which is in its log.' };
  }
}

/** Whether the request was refused before it changed anything. */
export function isRefusal(error: unknown): boolean {
  if (isDatabaseOutage(error)) return false;
  return (
    error instanceof UserError ||
    error instanceof SitePaused ||
    error instanceof InvalidRequest ||
    error instanceof SiteForked ||
    error instanceof SiteCopyRefused ||
    error instanceof SourceSilent ||
    error instanceof TooManyRequests ||
    error instanceof TooBusy ||
    (error instanceof HttpException && error.getStatus() < HttpStatus.INTERNAL_SERVER_ERROR)
  );
}

function busy(detail: string): Problem {
  return { status: HttpStatus.SERVICE_UNAVAILABLE, detail, headers: { 'retry-after': '5' } };
}

/** Without `Retry-After`: a repeat with the same key is answered with 409. */
const UNKNOWN: Problem = {
  status: HttpStatus.SERVICE_UNAVAILABLE,
  detail:
    'The database cannot be reached at the moment. The request may have been carried out: look up what it changed, then use a new Idempotency-Key.',
};

const COMMIT_UNKNOWN: Problem = {
  status: HttpStatus.SERVICE_UNAVAILABLE,
  detail:
    'The connection to the database was lost while the change was being stored. It may have been carried out: look up what it changed before you repeat it.',
};

function statusOf(error: unknown): number {
  if (error instanceof HttpException) return error.getStatus();
  // Fastify's errors, such as a body that is not JSON.
  const { statusCode } = error as { statusCode?: unknown };
  return typeof statusCode === 'number' ? statusCode : HttpStatus.INTERNAL_SERVER_ERROR;
}

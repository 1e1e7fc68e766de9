import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, HttpStatus } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';

/** Answers HTTP errors in plain text. Server errors are logged, and their details are not sent to the caller. */
@Catch()
export class PlainTextErrors implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const status =
      error instanceof HttpException ? error.getStatus() : ((error as { statusCode?: number }).statusCode ?? 500);
    if (status >= HttpStatus.INTERNAL_SERVER_ERROR) this.logger.error('Request failed', { error: messageOf(error) });
    const text =
      status === HttpStatus.NOT_FOUND ? 'Not found. Conversions are posted to /__cc/inbound.' : `Error ${status}`;
    void reply.status(status).type('text/plain; charset=utf-8').send(text);
  }
}

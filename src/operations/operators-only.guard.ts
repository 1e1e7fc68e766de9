import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Inject, Injectable, NotFoundException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RequestOrigin } from '../http/request-origin.js';
import { isWithin } from '../kernel/addresses.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';

/** Limits metrics and API documents to this machine and OPERATIONS_FROM: the service's host name is public. */
@Injectable()
export class OperatorsOnly implements CanActivate {
  private readonly origin: RequestOrigin;

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {
    this.origin = new RequestOrigin(settings.trustedProxies);
  }

  allows(request: IncomingMessage): boolean {
    return this.origin.isLocal(request) || isWithin(this.origin.address(request), this.settings.operationsFrom);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.allows(context.switchToHttp().getRequest<FastifyRequest>().raw)) return true;
    throw new NotFoundException();
  }
}

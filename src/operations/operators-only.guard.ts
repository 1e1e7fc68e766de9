import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, Inject, Injectable, NotFoundException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { RequestOrigin } from '../http/request-origin.js';
import { isWithin } from '../kernel/addresses.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';

/** Metrics and documents are for this machine and the operators' networks. The host is the customer's public one. */
@Injectable()
export class OperatorsOnly implements CanActivate {
  private readonly origin: RequestOrigin;

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {
    this.origin = new RequestOrigin(settings.trustedProxies);
  }

  admits(request: IncomingMessage): boolean {
    return this.origin.isLocal(request) || isWithin(this.origin.address(request), this.settings.operationsFrom);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.admits(context.switchToHttp().getRequest<FastifyRequest>().raw)) return true;
    throw new NotFoundException();
  }
}

import {
  type CanActivate,
  type ExecutionContext,
  ForbiddenException,
  Injectable,
  NotFoundException,
  UnauthorizedException,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { may, type Principal, seesSite } from '../../users/access.js';
import { ACCESS, type Access, type AdminRequest } from './access.decorators.js';
import { Credentials, credentialOf } from './credentials.js';
import { SameHost } from './same-host.js';

/** Decides who makes a request and whether it may. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly credentials: Credentials,
    private readonly hosts: SameHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access === undefined) throw new ForbiddenException('This route does not say who may call it.');
    if (access === 'anonymous') return true;
    const request = context.switchToHttp().getRequest<AdminRequest>();
    const principal = await this.authenticate(request);
    if (!principal)
      throw new UnauthorizedException('Sign in, or send an API token in the header "Authorization: Bearer …".');
    const { site } = request.params as { site?: string };
    // Before the permission: a caller that does not see a site learns nothing about it.
    if (site !== undefined && !seesSite(principal, site)) throw new NotFoundException(`There is no site ${site}.`);
    if (access.by === 'user' && request.sessionCookie === undefined)
      throw new ForbiddenException('A token cannot do this. Sign in.');
    if (!may(principal, access.permission))
      throw new ForbiddenException(`This needs the permission "${access.permission}".`);
    request.principal = principal;
    return true;
  }

  private async authenticate(request: AdminRequest): Promise<Principal | undefined> {
    const credential = credentialOf(request, this.hosts);
    const principal = credential && (await this.credentials.find(credential));
    if (principal && credential.kind === 'session') {
      requireOwnPage(request);
      request.sessionCookie = credential.text;
    }
    return principal;
  }
}

/** A page of another origin cannot send this header without the permission of this one, which nothing gives. */
function requireOwnPage({ method, headers }: AdminRequest): void {
  if (method === 'GET' || method === 'HEAD' || headers['x-cc-csrf'] !== undefined) return;
  throw new ForbiddenException('Send the header "X-CC-CSRF: 1" with every change that uses the session cookie.');
}

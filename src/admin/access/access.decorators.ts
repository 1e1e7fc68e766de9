import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiCookieAuth } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import type { Permission, Principal } from '../../users/access.js';

export const ACCESS = Symbol('access');

/** Who may call a route. A route that does not say is refused. */
export type Access = 'anonymous' | { readonly permission: Permission; readonly by: 'anyone' | 'user' };

/** The guard sets it. */
export interface AdminRequest extends FastifyRequest {
  principal?: Principal;
  /** The value of the session cookie that the request was authenticated with. */
  sessionCookie?: string;
}

/** The caller must be signed in, or use a token, and have this permission. A `:site` in the path must be one of its sites. */
export function Requires(permission: Permission) {
  const access: Access = { permission, by: 'anyone' };
  return applyDecorators(SetMetadata(ACCESS, access), ApiBearerAuth('token'), ApiCookieAuth('session'));
}

/** The same, not for tokens: a stolen one must not extend its own access. */
export function RequiresUser(permission: Permission) {
  const access: Access = { permission, by: 'user' };
  return applyDecorators(SetMetadata(ACCESS, access), ApiCookieAuth('session'));
}

export function Anonymous() {
  return SetMetadata(ACCESS, 'anonymous' satisfies Access);
}

export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<AdminRequest>();
  if (!principal) throw new Error('The route is open to anonymous callers, who have no principal');
  return principal;
});

/** The value of the session cookie, for routes that require a user. */
export const SessionCookie = createParamDecorator((_: unknown, context: ExecutionContext): string => {
  const { sessionCookie } = context.switchToHttp().getRequest<AdminRequest>();
  if (sessionCookie === undefined) throw new Error('The route is open to tokens, which have no session');
  return sessionCookie;
});

import { Controller, Get, NotFoundException, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import { Sealer } from '../../kernel/sealing.js';
import { ExternalUsersService } from '../../users/external-users.service.js';
import { SessionsService } from '../../users/sessions.service.js';
import { type AdminRequest, Anonymous } from './access.decorators.js';
import { ProviderCheck } from './provider-check.js';
import { SameHost } from './same-host.js';
import { PROVIDER_COOKIE, providerCookie, readCookie, sessionCookie } from './session-cookie.js';
import { ClocksDiffer, type PendingSignIn, SignInProvider } from './sign-in-provider.js';

/** Lax: the browser comes back from the provider, which is another site. */
const PENDING = 'cc_sign_in';
const PENDING_ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';
const PENDING_SECONDS = 600;

/** Sign-in at a provider. Browsers navigate to these addresses, so they answer with redirects. */
@ApiTags('Session')
@Controller('session/provider')
export class SignInController {
  constructor(
    private readonly provider: SignInProvider,
    private readonly users: ExternalUsersService,
    private readonly check: ProviderCheck,
    private readonly sessions: SessionsService,
    private readonly sealer: Sealer,
    private readonly logger: Logger,
    private readonly hosts: SameHost,
  ) {}

  @Get()
  @Anonymous()
  @ApiExcludeEndpoint()
  @ApiOperation({ summary: 'Go to the sign-in provider' })
  async begin(@Req() request: AdminRequest, @Res() reply: FastifyReply): Promise<void> {
    this.requireProvider();
    const { url, pending } = await this.provider.begin(this.callbackOf(request));
    const sealed = this.sealer.seal(Buffer.from(JSON.stringify(pending)), PENDING).toString('base64url');
    const name = this.hosts.cookieName(PENDING, request.raw);
    void reply.header('set-cookie', `${name}=${sealed}; ${PENDING_ATTRIBUTES}; Max-Age=${PENDING_SECONDS}`);
    void reply.redirect(url.href, 303);
  }

  @Get('callback')
  @Anonymous()
  @ApiExcludeEndpoint()
  async finish(@Req() request: AdminRequest, @Res() reply: FastifyReply): Promise<void> {
    this.requireProvider();
    const outcome = await this.signIn(request);
    const ended = `${this.hosts.cookieName(PENDING, request.raw)}=; ${PENDING_ATTRIBUTES}; Max-Age=0`;
    if ('refusal' in outcome) {
      void reply.header('set-cookie', ended).redirect(`/sign-in?refused=${outcome.refusal}`, 303);
      return;
    }
    const session = sessionCookie(this.hosts.cookieName('cc_session', request.raw), outcome.session);
    const origin = providerCookie(this.hosts.cookieName(PROVIDER_COOKIE, request.raw));
    void reply.header('set-cookie', [ended, session, origin]).redirect('/', 303);
  }

  @Get('sign-out')
  @Anonymous()
  @ApiExcludeEndpoint()
  async signOut(@Req() request: AdminRequest, @Res() reply: FastifyReply): Promise<void> {
    this.requireProvider();
    try {
      const url = await this.provider.signOutUrl(`${this.hosts.publicUrl(request.raw)}/`);
      void reply.redirect(url?.href ?? '/', 303);
    } catch (error) {
      this.logger.warn('Sign-out at the provider failed', { reason: messageOf(error) });
      void reply.redirect('/sign-in?refused=sign_out', 303);
    }
  }

  /** The reasons of a refusal are for the page, which explains them. Details are in the log. */
  private async signIn(request: AdminRequest): Promise<{ session: string } | { refusal: string }> {
    const pending = this.readPending(request);
    if (!pending) return { refusal: 'expired' };
    const answer = new URL(request.url, this.hosts.publicUrl(request.raw));
    try {
      const { identity, grant } = await this.provider.finish(answer, pending);
      const user = await this.users.findOrAdd(identity);
      if (user && this.provider.decidesRoles) await this.check.remember(user.id, grant);
      const session = user && (await this.sessions.open(user));
      return session === undefined ? { refusal: 'unknown_user' } : { session };
    } catch (error) {
      this.logger.warn('Sign-in at the provider failed', { reason: messageOf(error) });
      if (error instanceof ClocksDiffer) return { refusal: 'clock' };
      return { refusal: answer.searchParams.has('error') ? 'cancelled' : 'failed' };
    }
  }

  private readPending({ headers, raw }: AdminRequest): PendingSignIn | undefined {
    const value = readCookie(headers.cookie, this.hosts.cookieName(PENDING, raw));
    const opened = value === undefined ? undefined : this.sealer.tryOpen(Buffer.from(value, 'base64url'), PENDING);
    return opened && (JSON.parse(opened.plain.toString()) as PendingSignIn);
  }

  private callbackOf(request: AdminRequest): string {
    return `${this.hosts.publicUrl(request.raw)}/api/v1/session/provider/callback`;
  }

  private requireProvider(): void {
    if (!this.provider.isConfigured) throw new NotFoundException('No sign-in provider is configured (OIDC_ISSUER).');
  }
}

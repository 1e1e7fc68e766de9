import { hash } from 'node:crypto';
import {
  Body,
  ConflictException,
  Controller,
  Get,
  HttpStatus,
  NotFoundException,
  Param,
  Post,
  Req,
  Res,
} from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { listSignedIn } from '../../authorizations/list-options.js';
import { OauthApps } from '../../authorizations/oauth-apps.js';
import { PlatformSignIns, SIGN_IN_MINUTES, SIGN_IN_STATUSES } from '../../authorizations/platform-sign-ins.js';
import { beginSignIn, finishSignIn } from '../../authorizations/sign-in-flow.js';
import { messageOf } from '../../kernel/errors.js';
import { Logger } from '../../kernel/logger.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Site } from '../../sites/site.js';
import { may, type Principal, seesSite } from '../../users/access.js';
import { hashSecretToken } from '../../users/secret-token.js';
import { type AdminRequest, Anonymous, Caller, RequiresUser } from '../access/access.decorators.js';
import { Credentials } from '../access/credentials.js';
import { SameHost } from '../access/same-host.js';
import { readCookie } from '../access/session-cookie.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { host, time } from '../schemas.js';
import { optionsSchema } from './connections.controller.js';
import { ConnectionParam, findSite, SiteParam } from './site.param.js';

/** Lax: the browser comes back from the platform, which is another site, and leaves out the session's cookie. */
const BROWSER = 'cc_platform';
const BROWSER_ATTRIBUTES = `Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${SIGN_IN_MINUTES * 60}`;
const CALLBACK = 'oauth/callback';

const startedSchema = z
  .object({
    id: z.uuid(),
    url: z.string().meta({ description: "The platform's page, where the browser that called this is to go." }),
    expiresAt: time,
  })
  .meta({ id: 'StartedSignIn' });

const signInSchema = z
  .object({
    id: z.uuid(),
    status: z.enum(SIGN_IN_STATUSES).meta({
      description: 'granted: the tokens wait for the settings of a new connection. connected: a connection uses them.',
    }),
    reason: z.string().optional().meta({ description: 'Why it failed.' }),
    expiresAt: time,
  })
  .meta({ id: 'PlatformSignIn' });

const optionsRequestSchema = z
  .object({
    settings: z
      .record(z.string().max(200), z.string().max(5_000))
      .default({})
      .meta({ description: 'What was entered so far: Microsoft Ads lists only with developer_token.' }),
    account: z.string().max(64).optional().meta({ description: 'List what belongs to this account: an option.' }),
  })
  .strict();

/** Sign-in at a platform, to connect it. */
@ApiTags('Connections')
@Controller()
export class PlatformSignInController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly apps: OauthApps,
    private readonly signIns: PlatformSignIns,
    private readonly credentials: Credentials,
    private readonly hosts: SameHost,
    private readonly logger: Logger,
  ) {}

  @Post('sites/:site/connections/:connection/sign-in')
  @RequiresUser('write')
  @ApiOperation({ summary: 'Sign in at a platform: to connect it, or to renew the access of a connection' })
  @Returns(startedSchema, 'Where the browser is to go. It comes back within 10 minutes.', HttpStatus.CREATED)
  async start(
    @SiteParam() site: Site,
    @ConnectionParam() connection: ConnectionName,
    @Caller() { userId }: Principal,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const session = request.sessionCookie as string;
    // The same for all sign-ins of a session, so that two of them can be under way.
    const browser = hash('sha256', `platform sign-in ${session}`, 'base64url');
    const { id, url, expiresAt } = await beginSignIn(this.flow(), site, connection, {
      userId,
      sessionHash: hashSecretToken(session),
      browserHash: hashSecretToken(browser),
      redirectUri: redirectUriOf(this.hosts, request),
    });
    void reply.header('set-cookie', `${this.hosts.cookieName(BROWSER, request.raw)}=${browser}; ${BROWSER_ATTRIBUTES}`);
    return { id, url, expiresAt: expiresAt.toISOString() };
  }

  @Get('sites/:site/connections/:connection/sign-in/:id')
  @RequiresUser('read')
  @ApiOperation({ summary: 'Show how far a sign-in at a platform is' })
  @Returns(signInSchema, 'The sign-in.')
  async show(
    @Param('site', { schema: host }) site: string,
    @ConnectionParam() connection: ConnectionName,
    @Param('id', { schema: z.uuid() }) id: string,
    @Caller() { userId }: Principal,
  ) {
    const found = await this.signIns.find(id, { userId, site, connection });
    if (!found) throw new NotFoundException(`There is no sign-in ${id}.`);
    const { status, reason, expiresAt } = found;
    return { id, status, reason, expiresAt: expiresAt.toISOString() };
  }

  @Post('sites/:site/connections/:connection/sign-in/:id/options')
  @RequiresUser('write')
  @ApiOperation({ summary: 'List what the account of a sign-in has, to pick the settings of a new connection from' })
  @Returns(optionsSchema, 'What the platform lists to the person who signed in.')
  async options(
    @Param('site', { schema: host }) site: string,
    @ConnectionParam() connection: ConnectionName,
    @Param('id', { schema: z.uuid() }) id: string,
    @Body({ schema: optionsRequestSchema }) request: z.output<typeof optionsRequestSchema>,
    @Caller() { userId }: Principal,
  ) {
    const options = await listSignedIn(this.flow(), { id, userId, site, connection }, request);
    if (!options) throw new ConflictException('The sign-in is unknown, not finished or expired. Sign in again.');
    return options;
  }

  /** Platforms send the browser here. The page reads the result by the id. */
  @Get(CALLBACK)
  @Anonymous()
  @ApiExcludeEndpoint()
  async finish(@Req() request: AdminRequest, @Res() reply: FastifyReply): Promise<void> {
    const { searchParams: answer } = new URL(request.url, 'http://localhost');
    const state = answer.get('state') ?? '';
    const browser = readCookie(request.headers.cookie, this.hosts.cookieName(BROWSER, request.raw)) ?? '';
    const signIn = await this.signIns.take(state, hashSecretToken(browser));
    if (!signIn) {
      void reply.redirect('/?sign-in=expired', 303);
      return;
    }
    const { id, site: name, connection, sessionHash } = signIn;
    try {
      const caller = await this.credentials.findBySession(sessionHash);
      if (!caller || !may(caller, 'write') || !seesSite(caller, name))
        await this.signIns.fail(id, 'You are signed out, or may not change this site any more.');
      else {
        const site = await findSite(this.dependencies.sites, name);
        await finishSignIn(this.flow(), site, signIn, answer, caller.actor);
      }
    } catch (error) {
      this.logger.error('Sign-in at a platform failed', { site: name, platform: connection, error: messageOf(error) });
    }
    const page = `/sites/${encodeURIComponent(name)}/integrations?connection=${encodeURIComponent(connection)}&sign-in=${id}`;
    void reply.redirect(page, 303);
  }

  private flow() {
    const { dependencies, apps, signIns } = this;
    return { ...dependencies, apps, signIns };
  }
}

/** Where platforms send the browser. The operator registers it there. */
export function redirectUriOf(hosts: SameHost, request: AdminRequest): string {
  return `${hosts.publicUrl(request.raw)}/api/v1/${CALLBACK}`;
}

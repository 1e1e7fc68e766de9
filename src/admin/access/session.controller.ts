import {
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  NotFoundException,
  Post,
  Put,
  Req,
  Res,
  UnauthorizedException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { addUserCommand } from '../../app/banner.js';
import { networkOf } from '../../kernel/addresses.js';
import { SETTINGS, type Settings } from '../../kernel/settings/settings.js';
import type { Principal } from '../../users/access.js';
import { FirstAdministrator } from '../../users/first-administrator.js';
import { knownUser } from '../../users/password.js';
import { SessionsService } from '../../users/sessions.service.js';
import { byBrowser, byNetwork, bySession, SignInThrottle } from '../../users/sign-in-throttle.js';
import type { UserRow } from '../../users/user.row.js';
import { userDocument } from '../../users/user-document.js';
import { UsersService } from '../../users/users.service.js';
import { Returns, ReturnsNothing } from '../returns.decorator.js';
import {
  choosePasswordSchema,
  listOf,
  passwordChangeSchema,
  sessionSchema,
  sessionUserSchema,
  signInOptionsSchema,
  signInSchema,
  userSchema,
} from '../schemas.js';
import { type AdminRequest, Anonymous, Caller, Requires, RequiresUser, SessionCookie } from './access.decorators.js';
import { KnownBrowsers } from './known-browsers.js';
import { SameHost } from './same-host.js';
import { endedSessionCookie, PROVIDER_COOKIE, readCookie, readSessionCookie, sessionCookie } from './session-cookie.js';
import { SignInProvider } from './sign-in-provider.js';

@ApiTags('Session')
@Controller()
export class SessionController {
  constructor(
    private readonly users: UsersService,
    private readonly sessions: SessionsService,
    private readonly throttle: SignInThrottle,
    private readonly hosts: SameHost,
    private readonly first: FirstAdministrator,
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly provider: SignInProvider,
    private readonly browsers: KnownBrowsers,
  ) {}

  @Post('session')
  @Anonymous()
  @ApiOperation({ summary: 'Sign in' })
  @Returns(userSchema, 'Signed in; the answer sets the session cookie.')
  async signIn(
    @Body({ schema: signInSchema }) { email, password }: z.output<typeof signInSchema>,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const found = await this.users.findByEmail(email);
    const browser = this.browsers.recognise(found, request);
    const address = this.hosts.address(request.raw);
    const [attempt, caller] =
      found && browser !== undefined
        ? [byBrowser(browser), knownUser(found.id)]
        : [byNetwork(email, address), { id: networkOf(address), isKnown: false }];
    const user = await this.throttle.limit(attempt, async () => {
      const right = await this.users.authenticate(found, password, caller);
      return right && (await this.open(right, request, reply)) ? right : undefined;
    });
    if (!user) throw new UnauthorizedException('The email address or the password is wrong.');
    return userDocument(user);
  }

  @Post('session/password')
  @Anonymous()
  @ApiOperation({ summary: 'Choose a password with a sign-in link, and sign in' })
  @Returns(userSchema, 'Signed in; the answer sets the session cookie.')
  async choosePassword(
    @Body({ schema: choosePasswordSchema }) { link, password, email }: z.output<typeof choosePasswordSchema>,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const user = this.first.isLink(link)
      ? await this.first.useLink(link, email ?? this.settings.adminEmail, password)
      : await this.users.choosePassword(link, password);
    if (!(user && (await this.open(user, request, reply))))
      throw new UnauthorizedException('The link is unknown, used or expired. Ask an administrator for another.');
    return userDocument(user);
  }

  @Put('session/password')
  @RequiresUser('read')
  @ApiOperation({ summary: 'Change your password' })
  @ReturnsNothing('The password is changed, and your other sessions are ended. This one stays.')
  async changePassword(
    @Body({ schema: passwordChangeSchema }) { current, password }: z.output<typeof passwordChangeSchema>,
    @Caller() { userId }: Principal,
    @SessionCookie() session: string,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const changed = await this.throttle.limit(bySession(session), () =>
      this.users.changePassword(userId, { current, password, session }),
    );
    if (!changed) throw new UnprocessableEntityException('The current password is wrong.');
    void reply.header('set-cookie', this.browsers.remember(await this.find(userId), request));
  }

  @Get('session/options')
  @Anonymous()
  @ApiOperation({ summary: 'How users sign in' })
  @Returns(signInOptionsSchema, 'Whether there is a sign-in provider, and whether there are users.')
  async options() {
    const hasUsers = await this.users.exist();
    const addUser = hasUsers ? undefined : addUserCommand(this.settings.cliCommand);
    return { provider: this.provider.isConfigured, hasUsers, addUser };
  }

  @Get('session')
  @Requires('read')
  @ApiOperation({ summary: 'The user that the session or the token belongs to' })
  @Returns(sessionUserSchema, 'The user, with the sites that the session or the token gives access to.')
  async show(@Caller() { userId, sites }: Principal, @Req() { headers, raw }: AdminRequest) {
    const user = await this.find(userId);
    const isFromProvider =
      this.provider.isConfigured && readCookie(headers.cookie, this.hosts.cookieName(PROVIDER_COOKIE, raw)) === '1';
    return {
      ...userDocument(user),
      sites: sites === 'all' ? null : [...sites],
      ...(isFromProvider && { provider: true }),
    };
  }

  @Delete('session')
  @Anonymous()
  @ApiOperation({ summary: 'Sign out in this browser' })
  @ReturnsNothing('Signed out, or was not signed in.')
  async signOut(@Req() request: AdminRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const name = this.hosts.cookieName('cc_session', request.raw);
    const cookie = readSessionCookie(request.headers.cookie, name);
    if (cookie !== undefined) await this.sessions.close(cookie);
    this.endCookies(request, reply);
  }

  @Get('sessions')
  @RequiresUser('read')
  @ApiOperation({ summary: 'List your sessions: the browsers in which you are signed in' })
  @Returns(listOf(sessionSchema), 'This session first, then the one that was used last.')
  async list(@Caller() { userId }: Principal, @SessionCookie() session: string) {
    const sessions = await this.sessions.list(userId, session);
    return {
      items: sessions.map(({ current, createdAt, lastUsedAt, expiresAt }) => ({
        current,
        createdAt: createdAt.toISOString(),
        lastUsedAt: lastUsedAt.toISOString(),
        expiresAt: expiresAt.toISOString(),
      })),
    };
  }

  @Delete('sessions/others')
  @RequiresUser('read')
  @ApiOperation({ summary: 'Sign out in all other browsers' })
  @ReturnsNothing('All other sessions of the user are ended.')
  async signOutOthers(@Caller() { userId }: Principal, @SessionCookie() session: string): Promise<void> {
    await this.sessions.closeAll(userId, session);
  }

  @Delete('sessions')
  @RequiresUser('read')
  @ApiOperation({ summary: 'Sign out everywhere' })
  @ReturnsNothing('All sessions of the user are ended.')
  async signOutEverywhere(
    @Caller() { userId }: Principal,
    @Req() request: AdminRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    await this.sessions.closeAll(userId);
    this.endCookies(request, reply);
  }

  private async find(userId: string): Promise<UserRow> {
    const user = await this.users.find(userId);
    if (!user) throw new NotFoundException('The user does not exist any more.');
    return user;
  }

  private endCookies({ raw }: AdminRequest, reply: FastifyReply): void {
    const names = (['cc_session', PROVIDER_COOKIE] as const).map((name) => this.hosts.cookieName(name, raw));
    void reply.header('set-cookie', names.map(endedSessionCookie));
  }

  /** False if the user has lost access meanwhile. */
  private async open(user: UserRow, request: AdminRequest, reply: FastifyReply): Promise<boolean> {
    const { headers, raw } = request;
    const session = await this.sessions.open(user);
    if (session === undefined) return false;
    const name = this.hosts.cookieName('cc_session', raw);
    const origin = this.hosts.cookieName(PROVIDER_COOKIE, raw);
    const ended = readCookie(headers.cookie, origin) === undefined ? [] : [endedSessionCookie(origin)];
    void reply.header('set-cookie', [sessionCookie(name, session), this.browsers.remember(user, request), ...ended]);
    return true;
  }
}

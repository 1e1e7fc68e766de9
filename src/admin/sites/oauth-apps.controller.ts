import { Body, Controller, Delete, Get, NotFoundException, Param, Put, Req } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { OauthApps } from '../../authorizations/oauth-apps.js';
import { PLATFORMS } from '../../platforms/index.js';
import { type OauthApp, PLATFORM_NAMES, type PlatformName } from '../../platforms/platform.js';
import { parseEndpoint } from '../../sites/connections/connection-settings.js';
import type { Principal } from '../../users/access.js';
import { type AdminRequest, Caller, RequiresUser } from '../access/access.decorators.js';
import { SameHost } from '../access/same-host.js';
import { Returns, ReturnsNothing } from '../returns.decorator.js';
import { listOf } from '../schemas.js';
import { redirectUriOf } from './platform-sign-in.controller.js';

const platformName = z.enum(PLATFORM_NAMES);
const credential = z.string().regex(/^[\x21-\x7e]{1,500}$/, 'Send visible ASCII characters without spaces.');

const appSchema = z
  .object({
    platform: platformName,
    clientId: z.string().optional().meta({ description: 'Absent if there is no app.' }),
    endpoint: z.string().optional(),
    fromSettings: z
      .boolean()
      .meta({ description: 'Whether settings of the service set it: it cannot be changed here.' }),
    redirectUri: z.string().meta({ description: 'To be registered for the app at the platform.' }),
  })
  .meta({ id: 'OauthApp' });

const newAppSchema = z
  .object({
    clientId: credential,
    clientSecret: credential.meta({ description: 'It is stored sealed and cannot be shown again.' }),
    endpoint: z
      .string()
      .max(2_048)
      .optional()
      .meta({ description: "Base URL instead of the platform's own, such as that of a sandbox." }),
  })
  .strict();

/** The operator's own apps at platforms, with which people sign in there. */
@ApiTags('OAuth apps')
@Controller('oauth-apps')
@RequiresUser('administer')
export class OauthAppsController {
  constructor(
    private readonly apps: OauthApps,
    private readonly hosts: SameHost,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List the platforms that have a sign-in, and their OAuth apps' })
  @Returns(listOf(appSchema), 'Without the secrets.')
  async list(@Req() request: AdminRequest) {
    const offering = PLATFORMS.filter(({ authorization }) => authorization !== undefined);
    const items = offering.map(async ({ name }) => this.document(name, await this.apps.get(name), request));
    return { items: await Promise.all(items) };
  }

  @Get(':platform')
  @ApiOperation({ summary: 'Show the OAuth app of a platform' })
  @Returns(appSchema, 'Without the secret.')
  async show(@Param('platform', { schema: platformName }) platform: PlatformName, @Req() request: AdminRequest) {
    requireSignIn(platform);
    return this.document(platform, await this.apps.get(platform), request);
  }

  @Put(':platform')
  @ApiOperation({ summary: 'Set the OAuth app of a platform' })
  @Returns(appSchema, 'Without the secret.')
  async set(
    @Param('platform', { schema: platformName }) platform: PlatformName,
    @Body({ schema: newAppSchema }) { endpoint, ...credentials }: z.output<typeof newAppSchema>,
    @Caller() caller: Principal,
    @Req() request: AdminRequest,
  ) {
    requireSignIn(platform);
    const app = { ...credentials, endpoint: endpoint === undefined ? undefined : parseEndpoint(endpoint) };
    await this.apps.set(platform, app, caller);
    return this.document(platform, app, request);
  }

  @Delete(':platform')
  @ApiOperation({ summary: 'Remove the OAuth app of a platform; connections keep working' })
  @ReturnsNothing('There is no app of the platform any more.')
  async remove(
    @Param('platform', { schema: platformName }) platform: PlatformName,
    @Caller() caller: Principal,
  ): Promise<void> {
    requireSignIn(platform);
    await this.apps.remove(platform, caller);
  }

  private document(platform: PlatformName, app: OauthApp | undefined, request: AdminRequest) {
    const redirectUri = redirectUriOf(this.hosts, request);
    const fromSettings = this.apps.ofSettings(platform) !== undefined;
    return { platform, clientId: app?.clientId, endpoint: app?.endpoint, fromSettings, redirectUri };
  }
}

function requireSignIn(platform: PlatformName): void {
  if (PLATFORMS.some(({ name, authorization }) => name === platform && authorization)) return;
  throw new NotFoundException(`${platform} has no sign-in.`);
}

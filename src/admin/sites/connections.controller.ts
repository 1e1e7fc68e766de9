import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  ForbiddenException,
  Get,
  NotFoundException,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { z } from 'zod';
import { findDemoSandbox, sandboxConnection } from '../../app/demo-sandbox.js';
import { appOf, OauthApps } from '../../authorizations/oauth-apps.js';
import { PlatformSignIns } from '../../authorizations/platform-sign-ins.js';
import { connectSignedIn } from '../../authorizations/sign-in-flow.js';
import { connectionToSameAccount } from '../../delivery/connections/account.js';
import { TEST_RESULTS } from '../../delivery/connections/connection-test.js';
import { listStoredConnection, testStoredConnection } from '../../delivery/connections/stored-connection.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { PLATFORMS, platformOf } from '../../platforms/index.js';
import { type Platform, type PlatformName, TEST_CHECKS } from '../../platforms/platform.js';
import {
  type ConnectedPlatform,
  ConnectPlatform,
  DisconnectPlatform,
  PauseConnection,
  ResumeConnection,
} from '../../sites/connections/connection.commands.js';
import { connectionDocument, listedConnections } from '../../sites/connections/connection-document.js';
import { connectionOf, platformIn } from '../../sites/connections/named-connection.js';
import { findPlatform } from '../../sites/definitions.js';
import type { Site } from '../../sites/site.js';
import { type ConsentChoices, consentChoices } from '../../statistics/consent-choices.js';
import { may, type Principal } from '../../users/access.js';
import { Caller, Requires } from '../access/access.decorators.js';
import { Dependencies } from '../dependencies.js';
import { Returns } from '../returns.decorator.js';
import { connectionName, listOf, time } from '../schemas.js';
import { ConnectionParam, SiteParam } from './site.param.js';

const fieldSchema = z.object({ name: z.string(), secret: z.boolean(), required: z.boolean(), help: z.string() });
const platformSchema = z
  .object({
    platform: z.string(),
    fields: z.array(fieldSchema),
    signIn: z.boolean().meta({ description: 'Whether it can be connected by signing in there.' }),
    hasOauthApp: z.boolean().optional().meta({
      description: 'With signIn: whether there is the OAuth app that signing in needs, except at a sandbox.',
    }),
    withoutConsent: z
      .array(
        z.object({
          setting: z
            .string()
            .optional()
            .meta({ description: 'The setting of a connection that it is different with.' }),
          identifiers: z.string(),
          personal: z.string(),
          everything: z.string(),
        }),
      )
      .meta({ description: 'What leaves after an opt-out, by what the site withholds (`withhold`).' }),
  })
  .meta({ id: 'Platform' });

const connectionSchema = z
  .object({
    platform: connectionName,
    connected: z.boolean(),
    state: z.enum(['active', 'paused', 'parked']).optional(),
    reason: z.string().optional().meta({ description: 'Why it is paused or parked.' }),
    next: z.string().optional().meta({ description: 'What a person has to do before conversions are sent again.' }),
    needsReconnection: z
      .literal(true)
      .optional()
      .meta({ description: 'The platform refuses the credentials. A sign-in there gives new ones.' }),
    settings: z.record(z.string(), z.union([z.string(), z.literal(true)])).meta({ description: 'A secret is true.' }),
    newDefaults: z.record(z.string(), z.string()).optional(),
    endpoint: z.string().optional(),
    since: time.optional(),
    secrets: z.array(z.string()).optional().meta({ description: 'Names of the secrets that are set.' }),
    secret: z.string().optional().meta({ description: 'Only if it was just generated. It cannot be shown again.' }),
    sameAccountAs: connectionName
      .optional()
      .meta({ description: 'Another connection that sends to the same account.' }),
  })
  .meta({ id: 'Connection' });

const connectSchema = z
  .object({
    settings: z
      .record(z.string().max(200), z.string().max(5_000))
      .default({})
      .meta({ description: 'Settings and secrets to change. An empty text removes one.' }),
    endpoint: z
      .string()
      .max(2_048)
      .optional()
      .meta({ description: "Base URL instead of the platform's own; for administrators only." }),
    signIn: z
      .uuid()
      .optional()
      .meta({ description: 'Id of a sign-in at the platform, whose tokens are used in place of secrets.' }),
  })
  .strict()
  .refine(({ endpoint, signIn }) => endpoint === undefined || signIn === undefined, {
    message: 'A sign-in determines the endpoint: leave it out.',
    path: ['endpoint'],
  })
  .meta({ not: { required: ['endpoint', 'signIn'] } });

const testSchema = z
  .object({
    platform: connectionName,
    ok: z.boolean(),
    status: z.string(),
    sent: z.boolean().meta({ description: "Whether a conversion was sent, in the platform's test mode." }),
    result: z.enum(TEST_RESULTS).meta({
      description:
        '`accepted`: a conversion was sent and accepted. `refused`: the platform, or the way to it, does not work. `not_sent`: none was sent, and nothing that could be checked is wrong.',
    }),
    checked: z.array(z.enum(TEST_CHECKS)).meta({ description: 'What the platform has shown to be right.' }),
    reason: z.string().optional().meta({
      description: 'The words of the platform, or why no conversion was sent and what is missing.',
    }),
    fix: z.string().optional().meta({ description: 'What a person can do about a refusal.' }),
  })
  .meta({ id: 'ConnectionTest' });

const optionsQuery = z
  .object({
    account: z.string().max(64).optional().meta({
      description: 'List what belongs to this account, instead of to the first ones: the value of an option.',
    }),
  })
  .strict();

const optionSchema = z
  .object({
    setting: z.string().optional().meta({
      description:
        'The setting that the value is for; `event` for `event.<ours>`. Without it, others belong to the option.',
    }),
    value: z.string(),
    label: z.string().meta({ description: 'Plain text as the platform has it, not HTML.' }),
    also: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Settings that come with the choice. An empty text removes one.' }),
    parent: z.string().optional().meta({ description: 'The value of the option that it belongs to.' }),
    suits: z.enum(['purchase', 'lead', 'signup']).optional().meta({ description: 'The event that it is meant for.' }),
    unlisted: z
      .literal(true)
      .optional()
      .meta({ description: 'What belongs to it is listed with its value as `account`.' }),
    problem: z.string().optional().meta({ description: 'Why what belongs to it is not listed, and what to do.' }),
  })
  .meta({ id: 'AccountOption' });

export const optionsSchema = z
  .object({
    options: z.array(optionSchema),
    truncated: z.boolean().meta({ description: 'There is more than is listed.' }),
  })
  .meta({ id: 'AccountOptions' });

@ApiTags('Connections')
@Controller()
export class ConnectionsController {
  constructor(
    private readonly dependencies: Dependencies,
    private readonly apps: OauthApps,
    private readonly signIns: PlatformSignIns,
  ) {}

  @Get('platforms')
  @Requires('read')
  @ApiOperation({ summary: 'List the platforms and their settings' })
  @Returns(listOf(platformSchema), 'All platforms.')
  async platforms() {
    const items = PLATFORMS.map(async ({ name, fields, authorization }) => ({
      platform: name,
      signIn: authorization !== undefined,
      ...(authorization && { hasOauthApp: (await this.apps.get(name)) !== undefined }),
      withoutConsent: withoutConsentOf(name),
      fields: fields.map(({ name, secret = false, required = false, help }) => ({ name, secret, required, help })),
    }));
    return { items: await Promise.all(items) };
  }

  @Get('sites/:site/connections')
  @Requires('read')
  @ApiOperation({ summary: 'List the connections of a site' })
  @Returns(listOf(connectionSchema), 'All connections, and the platforms that are not connected.')
  list(@SiteParam() site: Site) {
    return { items: listedConnections(site) };
  }

  @Put('sites/:site/connections/:connection')
  @Requires('write')
  @ApiOperation({ summary: 'Connect a platform, or change the given settings of a connection' })
  @Returns(connectionSchema, 'The connection.')
  async connect(
    @SiteParam() site: Site,
    @ConnectionParam() connection: ConnectionName,
    @Body({ schema: connectSchema }) body: z.output<typeof connectSchema>,
    @Caller() caller: Principal,
  ) {
    // The service calls it from inside its network.
    if (body.endpoint !== undefined && !may(caller, 'administer'))
      throw new ForbiddenException('Only an administrator who is signed in can set the endpoint of a connection.');
    const platform = await this.platformToConnect(site, connection);
    const { connection: connected, generatedSecret } = await this.connected(site, connection, platform, body, caller);
    const sameAccountAs = connectionToSameAccount(platform, connected, site.connections);
    return {
      ...connectionDocument(connected, generatedSecret),
      ...(sameAccountAs !== undefined && { sameAccountAs }),
    };
  }

  /** The address is the service's own, so this needs no administrator, unlike an endpoint of the caller. */
  @Post('sites/:site/connections/:connection/sandbox')
  @Requires('write')
  @ApiOperation({ summary: 'Connect a platform to the sandbox that the service started, which stands in for it' })
  @Returns(connectionSchema, 'The connection.')
  async connectToSandbox(
    @SiteParam() site: Site,
    @ConnectionParam() connection: ConnectionName,
    @Caller() { actor }: Principal,
  ) {
    const { settings, commands } = this.dependencies;
    if (site.connections.some(({ platform, disconnected }) => platform === connection && !disconnected))
      throw new ConflictException(`${connection} is connected already. Disconnect it first.`);
    const sandboxUrl = findDemoSandbox(settings);
    if (sandboxUrl === undefined)
      throw new ConflictException(
        'There is no sandbox: it runs beside the embedded database, if DEMO_PLATFORMS is true.',
      );
    const platform = await this.platformToConnect(site, connection);
    const request = sandboxConnection(platform, sandboxUrl);
    const { connection: connected } = await commands.execute(
      new ConnectPlatform(actor, site.host, platform, request, connection),
    );
    return connectionDocument(connected);
  }

  @Delete('sites/:site/connections/:connection')
  @Requires('write')
  @ApiOperation({ summary: 'Disconnect a platform and delete its secrets' })
  @Returns(connectionSchema, 'The connection that was disconnected.')
  disconnect(@SiteParam() site: Site, @ConnectionParam() connection: ConnectionName, @Caller() caller: Principal) {
    return this.change(DisconnectPlatform, site, connection, caller);
  }

  @Post('sites/:site/connections/:connection/pause')
  @Requires('write')
  @ApiOperation({ summary: 'Pause sending; new conversions are queued' })
  @Returns(connectionSchema, 'The connection.')
  pause(@SiteParam() site: Site, @ConnectionParam() connection: ConnectionName, @Caller() caller: Principal) {
    return this.change(PauseConnection, site, connection, caller);
  }

  @Post('sites/:site/connections/:connection/resume')
  @Requires('write')
  @ApiOperation({ summary: 'Resume sending, including queued conversions' })
  @Returns(connectionSchema, 'The connection.')
  resume(@SiteParam() site: Site, @ConnectionParam() connection: ConnectionName, @Caller() caller: Principal) {
    return this.change(ResumeConnection, site, connection, caller);
  }

  @Post('sites/:site/connections/:connection/test')
  @Requires('write')
  @ApiOperation({
    summary: "Send a conversion in the platform's test mode, or check what can be checked without one",
  })
  @Returns(testSchema, 'What the platform answered.')
  async test(@SiteParam() site: Site, @ConnectionParam() connection: ConnectionName) {
    requireConnected(site, connection);
    const platform = requirePlatform(site, connection);
    return testStoredConnection(this.dependencies, site, { name: connection, platform });
  }

  @Get('sites/:site/connections/:connection/options')
  @Requires('write')
  @ApiOperation({ summary: 'List what the account of a connection has, to pick settings and events from' })
  @Returns(optionsSchema, 'What the platform lists to the owner of the credentials.')
  async options(
    @SiteParam() site: Site,
    @ConnectionParam() connection: ConnectionName,
    @Query({ schema: optionsQuery }) { account }: z.output<typeof optionsQuery>,
  ) {
    requireConnected(site, connection);
    const platform = requirePlatform(site, connection);
    const builtIn = platformOf(platform.name);
    const app = builtIn && appOf(await this.apps.get(builtIn.name), connectionOf(site, connection));
    return listStoredConnection(this.dependencies, site, { name: connection, platform }, { account, app });
  }

  private async connected(
    site: Site,
    connection: ConnectionName,
    platform: Platform,
    { settings, endpoint, signIn: id }: z.output<typeof connectSchema>,
    { actor, userId }: Principal,
  ): Promise<ConnectedPlatform> {
    const { dependencies, apps, signIns } = this;
    const request = { set: settings, endpoint };
    if (id === undefined)
      return dependencies.commands.execute(new ConnectPlatform(actor, site.host, platform, request, connection));
    const signIn = { id, userId, site: site.host, connection };
    const connected = await connectSignedIn({ ...dependencies, apps, signIns }, signIn, settings, actor);
    if (!connected) throw new ConflictException('The sign-in is unknown, used or expired. Sign in again.');
    return connected;
  }

  private async platformToConnect(site: Site, connection: ConnectionName): Promise<Platform> {
    const platform = (await findPlatform(this.dependencies.log, connection)) ?? platformIn(site, connection);
    if (!platform) throw new BadRequestException(`There is no platform ${connection}.`);
    return platform;
  }

  private async change(
    Command: typeof DisconnectPlatform | typeof PauseConnection | typeof ResumeConnection,
    site: Site,
    connection: ConnectionName,
    { actor }: Principal,
  ) {
    requireConnected(site, connection);
    return connectionDocument(await this.dependencies.commands.execute(new Command(actor, site.host, connection)));
  }
}

/** The platform of a connection. */
export function requirePlatform(site: Site, connection: ConnectionName): Platform {
  const platform = platformIn(site, connection);
  if (!platform) throw new BadRequestException(`There is no platform ${connection}.`);
  return platform;
}

export function requireConnected({ host, connections }: Site, connection: ConnectionName): void {
  if (connections.some(({ platform, disconnected }) => platform === connection && !disconnected)) return;
  throw new NotFoundException(`${connection} is not connected to ${host}.`);
}

/** By platform. It depends on the code only. */
let choices: readonly ConsentChoices[] | undefined;

function withoutConsentOf(platform: PlatformName) {
  choices ??= consentChoices();
  return choices.filter((each) => each.platform === platform).map(({ platform: _, ...words }) => words);
}

import type { Command } from 'commander';
import { connectionToSameAccount } from '../delivery/connections/account.js';
import { listStoredConnection, testStoredConnection } from '../delivery/connections/stored-connection.js';
import { platformNameOf } from '../platforms/connection-name.js';
import { definedPlatform } from '../platforms/defined/compile.js';
import { PLATFORMS } from '../platforms/index.js';
import {
  ConnectPlatform,
  DisconnectPlatform,
  PauseConnection,
  ResumeConnection,
} from '../sites/connections/connection.commands.js';
import { connectionDocument, listedConnections, platformDocument } from '../sites/connections/connection-document.js';
import { platformIn } from '../sites/connections/named-connection.js';
import { readDefinitions } from '../sites/definitions.js';
import { connectionArgument, NAME_HELP, readConnectionName } from './arguments/platform-argument.js';
import type { SecretInput } from './arguments/secret-input.js';
import { CLI_ACTOR } from './cli-actor.js';
import { type ConfirmationOptions, executeConfirmed, withConfirmation } from './confirmation.js';
import { adviceAfterTest } from './connection-advice.js';
import { addDefinitions } from './definitions.commands.js';
import { connectionCard, settingsText } from './output/platform-output.js';
import { card, table } from './output/table.js';
import { addPreview } from './preview.command.js';
import type { Session } from './session.js';
import { collect, commandGroup, readSetting, subcommand } from './subcommand.js';

export function addPlatforms(program: Command, session: Session): void {
  const { output } = session;
  const platforms = commandGroup(program, 'platforms', 'Manage the platforms that a site sends conversions to');

  subcommand(
    platforms,
    'list',
    'List the platforms, or the connections of a site',
    'platforms list --site shop.example',
  )
    .option('--site <host>', 'show the connections of this site')
    .action(async ({ site: host, json }: { site?: string; json?: true }) => {
      if (host === undefined) {
        const list = PLATFORMS.map(platformDocument);
        return output.showTable(json, list, {
          PLATFORM: ({ platform }) => platform,
          REQUIRED: ({ fields }) => fields.filter(({ required }) => required).map(fieldText),
          OPTIONAL: ({ fields }) => fields.filter(({ required }) => !required).map(fieldText),
        });
      }
      const { site } = await session.openSite(host);
      const list = listedConnections(site);
      await output.showTable(json, list, {
        PLATFORM: ({ platform }) => platform,
        STATE: ({ state }) => state,
        SINCE: ({ since }) => since,
        REASON: ({ reason }) => reason,
        SETTINGS: ({ settings }) => settingsText(settings),
        ENDPOINT: ({ endpoint }) => endpoint,
        SECRETS: ({ secrets }) => secrets,
      });
      if (json) return;
      for (const { platform, state, next } of list)
        if (next !== undefined) output.note(`${platform} is ${state}. ${next}`);
      for (const { platform, newDefaults } of list) {
        if (!newDefaults) continue;
        const set = settingsText(newDefaults).map((text) => ` --set ${text}`);
        output.note(
          `${platform} keeps earlier defaults. To change to those of new connections: platforms connect ${platform} --site ${host}${set.join('')}`,
        );
      }
    });

  subcommand(
    platforms,
    'connect <platform>',
    'Connect a platform, or change the given settings of a connection',
    'platforms connect meta --site shop.example --set pixel_id=123456789 --set access_token=…',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option('--name <name>', NAME_HELP)
    .option(
      '--set <name=value>',
      'setting or secret; "name=-" reads it from standard input, "name=" removes it; may be repeated',
      collect,
    )
    .option('--set-file <name=path>', 'the same, from a file; may be repeated', collect)
    .option('--endpoint <url>', "base URL instead of the platform's own; an empty one restores it")
    .action(async (argument: string, options: ConnectOptions) => {
      const { site, commands, log } = await session.openSite(options.site);
      const definitions = await readDefinitions(log);
      const { name, platform } = readConnectionName(argument, options.name, (connection) => {
        const definition = definitions.get(platformNameOf(connection));
        return (definition && definedPlatform(definition.text)) ?? platformIn(site, connection);
      });
      const set = await readSettings(options, session.input);
      const { host, connections } = site;
      const { connection, generatedSecret } = await commands.execute(
        new ConnectPlatform(CLI_ACTOR, host, platform, { set, endpoint: options.endpoint }, name),
      );
      const other = connectionToSameAccount(platform, connection, connections);
      const document = {
        ...connectionDocument(connection, generatedSecret),
        ...(other !== undefined && { sameAccountAs: other }),
      };
      await output.show(options.json, document, () => connectionCard(document));
      if (options.json) return;
      if (generatedSecret !== undefined)
        output.note('Save the secret now: it is stored sealed and cannot be shown again.');
      if (other !== undefined)
        output.note(
          `${other} sends to the same account: the platform gets every conversion twice, and counts it once only where it removes duplicates.`,
        );
      if (connection.state === 'paused')
        output.note(`It is paused: "platforms resume ${name} --site ${host}" resumes sending.`);
    });

  addDefinitions(platforms, session);
  addPreview(platforms, session);

  withConfirmation(
    subcommand(
      platforms,
      'disconnect <platform>',
      'Disconnect a platform and delete its secrets',
      'platforms disconnect meta --site shop.example',
    ),
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option('--name <name>', NAME_HELP)
    .action(async (argument: string, { site, name: option, ...options }: ConnectionOptions & ConfirmationOptions) => {
      const { site: found } = await session.openSite(site);
      const { name } = connectionArgument(found, argument, option);
      const { host } = found;
      const question = `Disconnect ${name} of ${host} and delete its secrets? Queued deliveries fail.`;
      const connection = await executeConfirmed(session, options, { question, unattended: 'go on' }, (commands) =>
        commands.execute(new DisconnectPlatform(CLI_ACTOR, host, name)),
      );
      const { dryRun, json } = options;
      const document = connectionDocument(connection);
      await output.show(json, { ...document, ...(dryRun && { dryRun }) }, () => connectionCard(document));
    });
  change('pause', 'Pause sending until "platforms resume"; new conversions are queued', PauseConnection);
  change('resume', 'Resume sending, including queued conversions', ResumeConnection);

  subcommand(
    platforms,
    'test <platform>',
    "Send a conversion in the platform's test mode, or check what can be checked without one",
    'platforms test meta --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option('--name <name>', NAME_HELP)
    .action(async (argument: string, { site: host, name, json }: ConnectionOptions) => {
      const { site, ...dependencies } = await session.openSite(host);
      const target = connectionArgument(site, argument, name);
      const test = await testStoredConnection(dependencies, site, target);
      await output.show(json, test, () => card({ ...test }));
      if (!test.ok) session.exitCode = 1;
      const advice = adviceAfterTest(test, site);
      if (advice !== undefined && !json) output.note(advice);
    });

  subcommand(
    platforms,
    'options <platform>',
    'List what the account of a connection has, to pick settings and events from',
    'platforms options google_ads --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option('--name <name>', NAME_HELP)
    .option('--account <id>', 'list what belongs to this account, instead of to the first ones')
    .action(async (argument: string, options: ConnectionOptions & { readonly account?: string }) => {
      const { site, ...dependencies } = await session.openSite(options.site);
      const target = connectionArgument(site, argument, options.name);
      const listed = await listStoredConnection(dependencies, site, target, { account: options.account });
      await output.show(options.json, listed, (layout) => {
        return table(
          listed.options,
          {
            SETTING: ({ setting, suits }) => (setting === 'event' ? `event.${suits ?? '<name>'}` : setting),
            VALUE: ({ value }) => value,
            NAME: ({ label }) => label,
            OF: ({ parent }) => parent,
            NOTE: ({ problem, unlisted }) => problem ?? (unlisted && 'use --account to see what it has'),
          },
          layout,
        );
      });
      if (listed.truncated && !options.json) output.note('There is more than is listed.');
    });

  function change(
    verb: string,
    description: string,
    ConnectionCommand: typeof PauseConnection | typeof ResumeConnection,
  ): void {
    subcommand(platforms, `${verb} <platform>`, description, `platforms ${verb} meta --site shop.example`)
      .requiredOption('--site <host>', 'site that the connection belongs to')
      .option('--name <name>', NAME_HELP)
      .action(async (argument: string, options: ConnectionOptions) => {
        const { site, commands } = await session.openSite(options.site);
        const { name } = connectionArgument(site, argument, options.name);
        const changed = await commands.execute(new ConnectionCommand(CLI_ACTOR, site.host, name));
        const document = connectionDocument(changed);
        await output.show(options.json, document, () => connectionCard(document));
      });
  }
}

interface ConnectionOptions {
  readonly site: string;
  readonly name?: string;
  readonly json?: true;
}

interface ConnectOptions extends ConnectionOptions {
  readonly set?: string[];
  readonly setFile?: string[];
  readonly endpoint?: string;
}

async function readSettings({ set = [], setFile = [] }: ConnectOptions, input: SecretInput) {
  const values: Record<string, string> = {};
  for (const [name, value] of set.map((text) => readSetting('--set', 'pixel_id=123456789', text)))
    values[name] = await input.value(`--set ${name}`, value);
  for (const [name, path] of setFile.map((text) => readSetting('--set-file', 'access_token=token.txt', text)))
    values[name] = input.file(`--set-file ${name}`, path);
  return values;
}

function fieldText({ name, secret }: { name: string; secret: boolean }): string {
  return secret ? `${name} (secret)` : name;
}

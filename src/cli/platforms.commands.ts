import type { Command } from 'commander';
import { PLATFORMS } from '../platforms/index.js';
import {
  ConnectPlatform,
  DisconnectPlatform,
  PauseConnection,
  ResumeConnection,
} from '../sites/connection.commands.js';
import { card, table } from './output.js';
import { readPlatform } from './platform-argument.js';
import {
  connectionCard,
  connectionDocument,
  listedConnection,
  platformDocument,
  settingsText,
} from './platform-output.js';
import type { SecretInput } from './secret-input.js';
import type { Session } from './session.js';
import { adviceAfterTest, testStoredConnection } from './stored-connection.js';
import { collect, commandGroup, subcommand, UsageError } from './subcommand.js';

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
        return output.show(json, list, () => {
          return table(list, {
            PLATFORM: ({ platform }) => platform,
            REQUIRED: ({ fields }) => fields.filter(({ required }) => required).map(fieldText),
            OPTIONAL: ({ fields }) => fields.filter(({ required }) => !required).map(fieldText),
          });
        });
      }
      const { sites } = await session.open();
      const site = await sites.get(host);
      const list = PLATFORMS.map((platform) => listedConnection(platform, site));
      await output.show(json, list, () => {
        return table(list, {
          PLATFORM: ({ platform }) => platform,
          STATE: ({ state }) => state,
          SINCE: ({ since }) => since,
          REASON: ({ reason }) => reason,
          SETTINGS: ({ settings }) => settingsText(settings),
          ENDPOINT: ({ endpoint }) => endpoint,
          SECRETS: ({ secrets }) => secrets,
        });
      });
      if (json) return;
      for (const { platform, state, next } of list)
        if (next !== undefined) output.note(`${platform} is ${state}. ${next}`);
    });

  subcommand(
    platforms,
    'connect <platform>',
    'Connect a platform, or change the given settings of a connection',
    'platforms connect meta --site shop.example --set pixel_id=123456789 --set access_token=…',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .option(
      '--set <name=value>',
      'setting or secret; "name=-" reads it from standard input, "name=" removes it; may be repeated',
      collect,
    )
    .option('--set-file <name=path>', 'the same, from a file; may be repeated', collect)
    .option('--endpoint <url>', "base URL instead of the platform's own; an empty one restores it")
    .action(async (name: string, options: ConnectOptions) => {
      const platform = readPlatform(name);
      const set = await readSettings(options, session.input);
      const { sites, commands } = await session.open();
      const { host } = await sites.get(options.site);
      const { connection, generatedSecret } = await commands.execute(
        new ConnectPlatform('cli', host, platform, { set, endpoint: options.endpoint }),
      );
      const document = connectionDocument(connection, generatedSecret);
      await output.show(options.json, document, () => connectionCard(document));
      if (options.json) return;
      if (generatedSecret !== undefined)
        output.note('Save the secret now: it is stored sealed and cannot be shown again.');
      if (connection.state === 'paused')
        output.note(`It is paused: "platforms resume ${name} --site ${host}" resumes sending.`);
    });

  change('disconnect', 'Disconnect a platform and delete its secrets', DisconnectPlatform);
  change('pause', 'Pause sending until "platforms resume"; new conversions are queued', PauseConnection);
  change('resume', 'Resume sending, including queued conversions', ResumeConnection);

  subcommand(
    platforms,
    'test <platform>',
    "Test a connection in the platform's test mode; without a test mode nothing is sent",
    'platforms test meta --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the connection belongs to')
    .action(async (name: string, { site: host, json }: { site: string; json?: true }) => {
      const platform = readPlatform(name);
      const dependencies = await session.open();
      const site = await dependencies.sites.get(host);
      const test = await testStoredConnection(dependencies, site, platform);
      await output.show(json, test, () => card({ ...test }));
      if (!test.ok) session.exitCode = 1;
      const advice = adviceAfterTest(test, site);
      if (advice !== undefined && !json) output.note(advice);
    });

  function change(
    name: string,
    description: string,
    ConnectionCommand: typeof DisconnectPlatform | typeof PauseConnection | typeof ResumeConnection,
  ): void {
    subcommand(platforms, `${name} <platform>`, description, `platforms ${name} meta --site shop.example`)
      .requiredOption('--site <host>', 'site that the connection belongs to')
      .action(async (name: string, { site, json }: { site: string; json?: true }) => {
        const platform = readPlatform(name);
        const { sites, commands } = await session.open();
        const { host } = await sites.get(site);
        const document = connectionDocument(await commands.execute(new ConnectionCommand('cli', host, platform.name)));
        await output.show(json, document, () => connectionCard(document));
      });
  }
}

interface ConnectOptions {
  readonly site: string;
  readonly set?: string[];
  readonly setFile?: string[];
  readonly endpoint?: string;
  readonly json?: true;
}

async function readSettings({ set = [], setFile = [] }: ConnectOptions, input: SecretInput) {
  const values: Record<string, string> = {};
  for (const [name, value] of set.map((text) => readSetting('--set', 'pixel_id=123456789', text)))
    values[name] = await input.value(`--set ${name}`, value);
  for (const [name, path] of setFile.map((text) => readSetting('--set-file', 'access_token=token.txt', text)))
    values[name] = input.file(`--set-file ${name}`, path);
  return values;
}

function readSetting(option: string, example: string, text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  // The message does not repeat the text: it may be a secret given without its name.
  if (at < 1) throw new UsageError(`${option} takes a name and a value, such as ${option} ${example}.`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function fieldText({ name, secret }: { name: string; secret: boolean }): string {
  return secret ? `${name} (secret)` : name;
}

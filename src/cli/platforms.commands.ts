import type { Command } from 'commander';
import { PLATFORMS } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connection.js';
import type { Sites } from '../sites/sites.js';
import { adviceOn, tryConnection } from './connection-trial.js';
import { card, table } from './output.js';
import { readPlatform } from './platform-argument.js';
import {
  connectionCard,
  connectionDocument,
  listedConnection,
  platformDocument,
  settingsText,
} from './platform-output.js';
import type { Session } from './session.js';
import { collect, commandGroup, verb, WrongUsage } from './verb.js';

export function addPlatforms(program: Command, session: Session): void {
  const { output } = session;
  const platforms = commandGroup(program, 'platforms', 'Where the conversions of a site are sent');

  verb(platforms, 'list', 'The platforms, and how a site is connected to them', 'platforms list --site shop.example')
    .option('--site <host>', 'whose connections')
    .action(async ({ site: host, json }: { site?: string; json?: true }) => {
      if (host === undefined) {
        const list = PLATFORMS.map(platformDocument);
        return output.show(json, list, () => {
          return table(list, {
            PLATFORM: ({ platform }) => platform,
            'MUST HAVE': ({ fields }) => fields.filter(({ required }) => required).map(fieldText),
            'MAY HAVE': ({ fields }) => fields.filter(({ required }) => !required).map(fieldText),
          });
        });
      }
      const { sites } = await session.open();
      const { connections } = await sites.get(host);
      const list = PLATFORMS.map((platform) => listedConnection(platform, connections));
      await output.show(json, list, () => {
        return table(list, {
          PLATFORM: ({ platform }) => platform,
          STATE: ({ state }) => state,
          SINCE: ({ since }) => since,
          REASON: ({ reason }) => reason,
          SETTINGS: ({ settings }) => settingsText(settings),
        });
      });
    });

  verb(
    platforms,
    'connect <platform>',
    'Connect a platform, or change a connection: what is not named stays',
    'platforms connect meta --site shop.example --set pixel_id=123456789 --set access_token=…',
  )
    .requiredOption('--site <host>', 'whose conversions')
    .option('--set <name=value>', 'a setting; "name=" takes it away; may be repeated', collect)
    .option('--endpoint <url>', "in place of the platform's own address; an empty one goes back to it")
    .action(async (name: string, options: ConnectOptions) => {
      const platform = readPlatform(name);
      const set = Object.fromEntries((options.set ?? []).map(readSetting));
      const { sites } = await session.open();
      const { host } = await sites.get(options.site);
      const { connection, madeSecret } = await sites.connectPlatform(host, platform, {
        set,
        endpoint: options.endpoint,
      });
      const document = connectionDocument(connection, madeSecret);
      await output.show(options.json, document, () => connectionCard(document));
      if (options.json) return;
      if (madeSecret !== undefined) output.note('Keep the secret now: it is stored sealed and cannot be shown again.');
      if (connection.state === 'paused')
        output.note(`It is paused: "platforms resume ${name} --site ${host}" makes it send again.`);
    });

  change('disconnect', 'Send nothing more, and forget the secrets', (sites, host, { name }) =>
    sites.disconnectPlatform(host, name),
  );
  change('pause', 'Send nothing until "platforms resume"; what comes in meanwhile is kept', (sites, host, { name }) =>
    sites.pausePlatform(host, name),
  );
  change('resume', 'Send again, with what was kept', (sites, host, { name }) => sites.resumePlatform(host, name));

  verb(
    platforms,
    'test <platform>',
    "Try a connection out in the platform's test mode; where it has none, nothing is sent",
    'platforms test meta --site shop.example',
  )
    .requiredOption('--site <host>', 'whose connection')
    .action(async (name: string, { site: host, json }: { site: string; json?: true }) => {
      const platform = readPlatform(name);
      const opened = await session.open();
      const site = await opened.sites.get(host);
      const test = await tryConnection(opened, site, platform);
      await output.show(json, test, () => card({ ...test }));
      if (!test.ok) session.exitCode = 1;
      const advice = adviceOn(test, site);
      if (advice !== undefined && !json) output.note(advice);
    });

  function change(
    word: string,
    description: string,
    act: (sites: Sites, host: string, platform: Platform) => Promise<SiteConnection>,
  ): void {
    verb(platforms, `${word} <platform>`, description, `platforms ${word} meta --site shop.example`)
      .requiredOption('--site <host>', 'whose connection')
      .action(async (name: string, { site, json }: { site: string; json?: true }) => {
        const platform = readPlatform(name);
        const { sites } = await session.open();
        const { host } = await sites.get(site);
        const document = connectionDocument(await act(sites, host, platform));
        await output.show(json, document, () => connectionCard(document));
      });
  }
}

interface ConnectOptions {
  readonly site: string;
  readonly set?: string[];
  readonly endpoint?: string;
  readonly json?: true;
}

function readSetting(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  // Not repeated: it may be a secret whose name was forgotten.
  if (at < 1) throw new WrongUsage('--set takes a name and a value, such as --set pixel_id=123456789.');
  return [text.slice(0, at), text.slice(at + 1)];
}

function fieldText({ name, secret }: { name: string; secret: boolean }): string {
  return secret ? `${name} (secret)` : name;
}

import type { Command } from 'commander';
import { IssueKey, RevokeKey } from '../sites/key.commands.js';
import { listKeys } from '../sites/list-keys.js';
import { CLI_ACTOR } from './cli-actor.js';
import { card, table } from './output.js';
import type { Session } from './session.js';
import { commandGroup, subcommand } from './subcommand.js';

export function addKeys(program: Command, session: Session): void {
  const { output } = session;
  const keys = commandGroup(program, 'keys', 'Manage the API keys of a site');

  subcommand(
    keys,
    'create',
    'Create a key. It is shown only once.',
    'keys create --site shop.example --name "Shop backend"',
  )
    .requiredOption('--site <host>', 'site that the key belongs to')
    .requiredOption('--name <label>', 'name to recognise the key by')
    .option('--trial', 'trial key: conversions are validated but sent to no platform')
    .action(async ({ site: host, name, trial, json }: { site: string; name: string; trial?: true; json?: true }) => {
      const { sites, commands } = await session.open();
      const site = await sites.get(host);
      const issued = await commands.execute(new IssueKey(CLI_ACTOR, site.host, name, trial ?? false));
      const key = {
        id: issued.id,
        name: issued.name,
        prefix: issued.prefix,
        key: issued.key,
        trial: issued.trial,
        createdAt: issued.createdAt,
      };
      await output.show(json, key, () =>
        card({ key: key.key, name: key.name, trial: key.trial, id: key.id, created: key.createdAt }),
      );
      if (json) return;
      output.note('Save the key now: only its hash is stored, so it cannot be shown again.');
      if (!site.inbound)
        output.note(`Inbound is disabled. Accept conversions for ${site.host} with "inbound enable ${site.host}".`);
    });

  subcommand(keys, 'list', 'List the keys of a site', 'keys list --site shop.example')
    .requiredOption('--site <host>', 'site that the keys belong to')
    .action(async ({ site: host, json }: { site: string; json?: true }) => {
      const dependencies = await session.open();
      const site = await dependencies.sites.get(host);
      const list = await listKeys(dependencies, site.host);
      if (list.length === 0 && !json) {
        return output.note(
          `${site.host} has no key yet. Create one with "keys create --site ${site.host} --name <label>".`,
        );
      }
      await output.show(json, list, () => {
        return table(list, {
          NAME: (key) => key.name,
          PREFIX: (key) => key.prefix,
          STATUS: (key) => key.status,
          TRIAL: (key) => key.trial,
          CREATED: (key) => key.createdAt,
          'LAST USED': (key) => key.lastUsedAt ?? 'never',
          ID: (key) => key.id,
        });
      });
    });

  subcommand(
    keys,
    'revoke <id>',
    'Revoke a key at once',
    'keys revoke 01980000-0000-7000-8000-000000000000 --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the key belongs to')
    .action(async (id: string, { site: host, json }: { site: string; json?: true }) => {
      const dependencies = await session.open();
      const site = await dependencies.sites.get(host);
      const revoked = await dependencies.commands.execute(new RevokeKey(CLI_ACTOR, site.host, id.toLowerCase()));
      const key = (await listKeys(dependencies, site.host)).find((candidate) => candidate.id === revoked.id);
      await output.show(json, key, () => card({ ...key }));
    });
}

import type { Command } from 'commander';
import { type IssuedKey, IssueKey, RevokeKey, RotateKey } from '../sites/keys/key.commands.js';
import { keyExpiry, OVERLAP_DEFAULT } from '../sites/keys/key-rotation.js';
import { listKeys } from '../sites/keys/list-keys.js';
import { CLI_ACTOR } from './cli-actor.js';
import { type ConfirmationOptions, executeConfirmed, withConfirmation } from './confirmation.js';
import { card, printable } from './output/table.js';
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
      const { site, commands } = await session.openSite(host);
      const issued = await commands.execute(new IssueKey(CLI_ACTOR, site.host, name, trial ?? false));
      await showIssued(json, issued);
      if (!json && !site.inbound)
        output.note(`Inbound is disabled. Accept conversions for ${site.host} with "inbound enable ${site.host}".`);
    });

  subcommand(keys, 'list', 'List the keys of a site', 'keys list --site shop.example')
    .requiredOption('--site <host>', 'site that the keys belong to')
    .action(async ({ site: host, json }: { site: string; json?: true }) => {
      const { site, ...dependencies } = await session.openSite(host);
      const list = await listKeys(dependencies, site.host);
      if (list.length === 0 && !json) {
        return output.note(
          `${site.host} has no key yet. Create one with "keys create --site ${site.host} --name <label>".`,
        );
      }
      await output.showTable(json, list, {
        NAME: (key) => key.name,
        PREFIX: (key) => key.prefix,
        STATUS: (key) => key.status,
        EXPIRES: (key) => key.expiresAt,
        TRIAL: (key) => key.trial,
        CREATED: (key) => key.createdAt,
        'LAST USED': (key) => key.lastUsedAt ?? 'never',
        ID: (key) => key.id,
      });
    });

  withConfirmation(
    subcommand(
      keys,
      'revoke <id>',
      'Revoke a key at once',
      'keys revoke 01980000-0000-7000-8000-000000000000 --site shop.example',
    ),
  )
    .requiredOption('--site <host>', 'site that the key belongs to')
    .action(async (id: string, { site: host, ...options }: { site: string } & ConfirmationOptions) => {
      const { site, ...dependencies } = await session.openSite(host);
      const name = site.keys.find((key) => key.id === id.toLowerCase())?.name;
      const question = `Revoke the key "${printable(name ?? '')}" of ${site.host}? Its senders are refused at once.`;
      const revoked = await executeConfirmed(session, options, { question, unattended: 'go on' }, (commands) =>
        commands.execute(new RevokeKey(CLI_ACTOR, site.host, id.toLowerCase())),
      );
      const key = (await listKeys(dependencies, site.host)).find((candidate) => candidate.id === revoked.id);
      const document = { ...key, ...(options.dryRun && { dryRun: true }) };
      await output.show(options.json, document, () => card(document));
    });

  subcommand(
    keys,
    'rotate <id>',
    'Replace a key by a new one, which is shown only once. Both are accepted until the overlap ends.',
    'keys rotate 01980000-0000-7000-8000-000000000000 --site shop.example --overlap 24h',
  )
    .requiredOption('--site <host>', 'site that the key belongs to')
    .option('--overlap <duration>', 'how long the old key is still accepted, 0s to 90d', OVERLAP_DEFAULT)
    .action(async (id: string, { site: host, overlap, json }: { site: string; overlap: string; json?: true }) => {
      const { site, commands, postgres } = await session.openSite(host);
      const expiresAt = keyExpiry(postgres.clock, overlap);
      const issued = await commands.execute(new RotateKey(CLI_ACTOR, site.host, id.toLowerCase(), expiresAt));
      await showIssued(json, issued);
      if (!json)
        output.note(`The old key is refused from ${expiresAt} on. "keys list" shows whether it is still used.`);
    });

  /** The only time that the key is shown. */
  async function showIssued(
    json: true | undefined,
    { id, name, prefix, key, trial, createdAt }: IssuedKey,
  ): Promise<void> {
    const document = { id, name, prefix, key, trial, createdAt };
    await output.show(json, document, () => card({ key, name, trial, id, created: createdAt }));
    if (!json) output.note('Save the key now: only its hash is stored, so it cannot be shown again.');
  }
}

import type { Command } from 'commander';
import type { SiteKey } from '../sites/site.js';
import { card, table } from './output.js';
import type { Opened, Session } from './session.js';
import { commandGroup, verb } from './verb.js';

export function addKeys(program: Command, session: Session): void {
  const { output } = session;
  const keys = commandGroup(program, 'keys', 'The API keys of a site');

  verb(
    keys,
    'create',
    'Make a key. It is shown this one time.',
    'keys create --site shop.example --name "Shop backend"',
  )
    .requiredOption('--site <host>', 'whose key')
    .requiredOption('--name <label>', 'to tell it from others')
    .option('--trial', 'for trying things out: everything is checked, nothing is sent on')
    .action(async ({ site: host, name, trial, json }: { site: string; name: string; trial?: true; json?: true }) => {
      const { sites } = await session.open();
      const site = await sites.get(host);
      const made = await sites.issueKey(site.host, name, trial ?? false);
      const key = {
        id: made.id,
        name: made.name,
        prefix: made.prefix,
        key: made.key,
        trial: made.trial,
        createdAt: made.createdAt,
      };
      await output.show(json, key, () =>
        card({ key: key.key, name: key.name, trial: key.trial, id: key.id, created: key.createdAt }),
      );
      if (json) return;
      output.note('Keep the key now: it is stored as a hash and cannot be shown again.');
      if (!site.inbound)
        output.note(`Inbound is off: "inbound enable ${site.host}" makes ${site.host} take conversions.`);
    });

  verb(keys, 'list', 'The keys of a site', 'keys list --site shop.example')
    .requiredOption('--site <host>', 'whose keys')
    .action(async ({ site: host, json }: { site: string; json?: true }) => {
      const opened = await session.open();
      const site = await opened.sites.get(host);
      const list = await listKeys(opened, site.host);
      if (list.length === 0 && !json) {
        return output.note(
          `${site.host} has no key yet. Make one with "keys create --site ${site.host} --name <label>".`,
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

  verb(
    keys,
    'revoke <id>',
    'Refuse a key from now on',
    'keys revoke 01980000-0000-7000-8000-000000000000 --site shop.example',
  )
    .requiredOption('--site <host>', 'whose key')
    .action(async (id: string, { site: host, json }: { site: string; json?: true }) => {
      const opened = await session.open();
      const site = await opened.sites.get(host);
      const revoked = await opened.sites.revokeKey(site.host, id.toLowerCase());
      const key = (await listKeys(opened, site.host)).find((candidate) => candidate.id === revoked.id);
      await output.show(json, key, () => card({ ...key }));
    });
}

/** As the read models have it, brought up to this moment. */
async function listKeys({ postgres, projections }: Opened, host: string) {
  await projections.catchUp('sites');
  await projections.catchUp('key_usage');
  const [{ SiteRow }, { KeyUsageRow }] = await Promise.all([
    import('../sites/site-row.js'),
    import('../sites/key-usage-row.js'),
  ]);
  const row = await (await postgres.repository(SiteRow)).findOneBy({ host });
  const keys = row?.keys ?? [];
  const { In } = await import('typeorm');
  const usage = await (await postgres.repository(KeyUsageRow)).findBy({ keyId: In(keys.map((key) => key.id)) });
  const lastUsed = new Map(usage.map(({ keyId, lastUsedAt }) => [keyId, lastUsedAt.toISOString()]));
  return keys.map(({ id, name, prefix, trial, createdAt, status }: SiteKey) => {
    return { id, name, prefix, trial, createdAt, lastUsedAt: lastUsed.get(id) ?? null, status };
  });
}

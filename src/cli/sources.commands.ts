import type { Command } from 'commander';
import { keyExpiry, OVERLAP_DEFAULT } from '../sites/keys/key-rotation.js';
import {
  ChangeSourceMapping,
  type ConnectedSource,
  ConnectSource,
  DisconnectSource,
  RotateSource,
} from '../sites/sources/source.commands.js';
import { requireConnected, requireSource } from '../sites/sources/source.handlers.js';
import { sourceDocument } from '../sites/sources/source-document.js';
import { changedMapping, type Mapping } from '../sources/mapping/mapping.js';
import { applySource } from './apply-source.js';
import { FROM_HELP, OPTIONAL_TO_HELP, readBound } from './arguments/bound-argument.js';
import { CLI_ACTOR } from './cli-actor.js';
import { type ConfirmationOptions, executeConfirmed, withConfirmation } from './confirmation.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { collect, commandGroup, readSetting, subcommand, UsageError } from './subcommand.js';
import { triggerSource } from './trigger-source.js';

interface SiteOptions {
  readonly site: string;
  readonly json?: true;
}

interface SecretOptions extends SiteOptions {
  readonly set?: string[];
  readonly setFile?: string[];
}

export function addSources(program: Command, session: Session): void {
  const { output } = session;
  const sources = commandGroup(program, 'sources', 'Manage the shops and tools whose webhooks become conversions');

  withSecret(
    subcommand(
      sources,
      'connect <source>',
      'Connect a source, or set the secret of a connected one',
      'sources connect shopify --site shop.example --set secret=-',
    ),
  ).action(async (source: string, options: SecretOptions) => {
    const secret = await readSecret(session, options);
    const { site, commands } = await session.openSite(options.site);
    const connected = await commands.execute(new ConnectSource(CLI_ACTOR, site.host, source, secret));
    await show(site.host, connected, options.json);
    if (options.json) return;
    const { label } = requireSource(source);
    if (!connected.connection.hasSecret)
      output.note(
        `Give the URL to ${label}, then set the secret that it shows: sources connect ${source} --site ${site.host} --set secret=-`,
      );
    if (!site.inbound)
      output.note(`Inbound is disabled. Accept conversions for ${site.host} with "inbound enable ${site.host}".`);
  });

  withSecret(
    subcommand(
      sources,
      'rotate <source>',
      'Replace the secret. Both are accepted until the overlap ends.',
      'sources rotate woocommerce --site shop.example --overlap 24h',
    ),
  )
    .option('--overlap <duration>', 'how long the secret before is still accepted, 0s to 90d', OVERLAP_DEFAULT)
    .action(async (source: string, options: SecretOptions & { overlap: string }) => {
      const secret = await readSecret(session, options);
      const { site, commands, postgres } = await session.openSite(options.site);
      const until = keyExpiry(postgres.clock, options.overlap);
      const rotated = await commands.execute(new RotateSource(CLI_ACTOR, site.host, source, secret, until));
      await show(site.host, rotated, options.json);
    });

  subcommand(sources, 'list', 'List the connected sources of a site', 'sources list --site shop.example')
    .requiredOption('--site <host>', 'site that the sources belong to')
    .action(async ({ site: host, json }: SiteOptions) => {
      const { site } = await session.openSite(host);
      const list = site.sources.map((source) => sourceDocument(site, source));
      await output.showTable(json, list, {
        SOURCE: ({ source }) => source,
        STATE: ({ state }) => state,
        URL: ({ url }) => url,
        CREATED: ({ createdAt }) => createdAt,
      });
    });

  subcommand(sources, 'show <source>', 'Show a source with its rules', 'sources show shopify --site shop.example')
    .requiredOption('--site <host>', 'site that the source belongs to')
    .action(async (name: string, { site: host, json }: SiteOptions) => {
      const source = requireSource(name);
      const { site } = await session.openSite(host);
      const connection = requireConnected(site, name);
      const rules = changedMapping(source.mapping, connection.mapping);
      const document = { ...sourceDocument(site, connection), rules };
      await output.show(json, document, () => {
        const { mapping: _, rules: __, ...others } = document;
        const lines = Object.entries(rules).flatMap(([topic, each]) =>
          Object.entries(each).map(([field, expression]) => `  ${topic}:${field}=${expression}\n`),
        );
        return `${card(others)}\nRules:\n${lines.join('')}`;
      });
    });

  subcommand(
    sources,
    'set <source>',
    'Change the rules by which deliveries become conversions',
    "sources set shopify --site shop.example --map 'orders/paid:value=/current_total_price | number'",
  )
    .requiredOption('--site <host>', 'site that the source belongs to')
    .option('--map <topic:field=expression>', 'rule of a field; "topic:field=" removes it; may be repeated', collect)
    .option('--reset', 'return to the rules of the source first')
    .action(
      async (source: string, { site: host, map = [], reset, json }: SiteOptions & { map?: string[]; reset?: true }) => {
        if (map.length === 0 && !reset) throw new UsageError('Give rules with --map, or --reset.');
        const changes = readRules(map);
        const { site, commands } = await session.openSite(host);
        const command = new ChangeSourceMapping(CLI_ACTOR, site.host, source, changes, reset);
        await show(site.host, await commands.execute(command), json);
      },
    );

  withConfirmation(
    subcommand(
      sources,
      'disconnect <source>',
      'Disconnect a source and delete its secret',
      'sources disconnect shopify --site shop.example',
    ),
  )
    .requiredOption('--site <host>', 'site that the source belongs to')
    .action(async (source: string, { site: host, ...options }: { site: string } & ConfirmationOptions) => {
      const { site } = await session.openSite(host);
      const question = `Disconnect ${requireConnected(site, source).source} of ${site.host}? Its deliveries are refused at once.`;
      const { connection } = await executeConfirmed(session, options, { question, unattended: 'go on' }, (commands) =>
        commands.execute(new DisconnectSource(CLI_ACTOR, site.host, source)),
      );
      const document = { ...sourceDocument(site, connection), ...(options.dryRun && { dryRun: true }) };
      await output.show(options.json, document, () => card({ ...document, mapping: undefined }));
    });

  subcommand(
    sources,
    'apply <source>',
    'Apply the current rules to stored deliveries that are no conversion',
    'sources apply shopify --site shop.example --from 2026-03-01 --dry-run',
  )
    .requiredOption('--site <host>', 'site that the source belongs to')
    .option('--from <when>', `${FROM_HELP}; default: the start of the log`, readBound)
    .option('--to <when>', OPTIONAL_TO_HELP, readBound)
    .option('--dry-run', 'count what would become a conversion, and store nothing')
    .action((source: string, options: Parameters<typeof applySource>[2]) => applySource(session, source, options));

  subcommand(
    sources,
    'trigger <source> <fixture>',
    'Post a documented delivery to the running service, signed with the secret of the source',
    'sources trigger stripe checkout.session.completed --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the source belongs to')
    .option('--url <url>', 'address of the service; by default the one of this machine')
    .action((source: string, fixture: string, options: SiteOptions & { url?: string }) =>
      triggerSource(session, source, fixture, options),
    );

  async function show(
    host: string,
    { connection, generatedSecret }: ConnectedSource,
    json: true | undefined,
  ): Promise<void> {
    const document = sourceDocument({ host }, connection, generatedSecret);
    await output.show(json, document, () => card({ ...document, mapping: undefined }));
    if (!json && generatedSecret !== undefined)
      output.note('Save the secret now: it is stored sealed and cannot be shown again.');
  }
}

function withSecret(command: Command): Command {
  return command
    .requiredOption('--site <host>', 'site that the source belongs to')
    .option('--set <name=value>', 'secret=<signing secret>; "secret=-" reads it from standard input', collect)
    .option('--set-file <name=path>', 'the same, from a file', collect);
}

async function readSecret({ input }: Session, { set = [], setFile = [] }: SecretOptions): Promise<string | undefined> {
  const values = [
    ...set.map((text) => [...readSetting('--set', 'secret=-', text), false] as const),
    ...setFile.map((text) => [...readSetting('--set-file', 'secret=secret.txt', text), true] as const),
  ];
  if (values.some(([name]) => name !== 'secret')) throw new UsageError('A source has one setting, secret.');
  if (values.length > 1) throw new UsageError('Give one secret.');
  const [value] = values;
  if (!value) return undefined;
  return value[2] ? input.file('--set-file secret', value[1]) : input.value('--set secret', value[1]);
}

/** `orders/paid:value=/total_price | number`: the field has no colon, the topic may have one. */
function readRules(texts: readonly string[]): Mapping {
  const changes: Record<string, Record<string, string>> = {};
  for (const text of texts) {
    const [name, expression] = readSetting('--map', "'orders/paid:value=/total_price | number'", text);
    const at = name.lastIndexOf(':');
    if (at < 1)
      throw new UsageError("--map takes a topic and a field, such as 'orders/paid:value=/total_price | number'.");
    const topic = name.slice(0, at);
    changes[topic] = { ...changes[topic], [name.slice(at + 1)]: expression.trim() };
  }
  return changes;
}

import { type Command, Option } from 'commander';
import { CHANNEL_KINDS, type ChannelKind } from '../app/alerts/channel.js';
import {
  addChannel,
  type NewChannel,
  pauseChannel,
  removeChannel,
  type ShownChannel,
  shownChannels,
} from '../app/alerts/channels.js';
import { testChannel } from '../app/alerts/operate-channels.js';
import { ATTENTION_KINDS, SEVERITIES } from '../app/attention/attention-item.js';
import { type AlertRules, changeRules, RULE_LIMITS, readRules } from '../app/attention/rules.js';
import { CLI_ACTOR } from './cli-actor.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { collect, commandGroup, readSetting, subcommand, UsageError } from './subcommand.js';

interface AddOptions {
  readonly name?: string;
  readonly site?: string[];
  readonly kind?: NonNullable<NewChannel['kinds']>[number][];
  readonly severity?: NewChannel['severity'];
  readonly json?: true;
}

export function addAlerts(program: Command, session: Session): void {
  const { output } = session;
  const alerts = commandGroup(program, 'alerts', 'Tell people by email, Slack or a webhook what needs attention');

  subcommand(
    alerts,
    'add <kind> <address>',
    `Tell someone: ${CHANNEL_KINDS.join(', ')}, and the email address or the URL; - reads it from standard input`,
    'alerts add email ops@shop.example --site shop.example',
  )
    .option('--name <text>', 'what it is called in lists')
    .option('--site <host>', 'only of this site (may be repeated); without it, of all sites and the service', collect)
    .addOption(
      new Option('--kind <kind>', 'only of this (may be repeated); without it, of all but what a person did')
        .choices(ATTENTION_KINDS)
        .argParser(collect),
    )
    .addOption(new Option('--severity <least>', 'the least severe to tell of').choices(SEVERITIES))
    .action(async (kind: string, address: string, { name, site, kind: kinds, severity, json }: AddOptions) => {
      const to = await session.input.value('<address>', address);
      const unknown = kinds?.find((each) => !ATTENTION_KINDS.includes(each));
      if (unknown !== undefined) throw new UsageError(`${unknown} is none of ${ATTENTION_KINDS.join(', ')}.`);
      const channel = {
        kind: channelKind(kind),
        to,
        name,
        sites: site ?? null,
        kinds: kinds ?? null,
        ...(severity && { severity }),
      };
      const added = await addChannel(await session.open(), CLI_ACTOR, channel);
      const document = { ...added.channel, ...(added.secret !== undefined && { secret: added.secret }) };
      await output.show(json, document, () => channelCard(document));
      if (json) return;
      if (added.secret !== undefined)
        output.note('Save the secret now: it is stored sealed and cannot be shown again. It signs each alert.');
      output.note(`Send a test with "alerts test ${added.channel.id}".`);
    });

  subcommand(alerts, 'list', 'List who is told', 'alerts list').action(async ({ json }: { json?: true }) => {
    await output.showTable(json, await shownChannels(await session.openWithAnyKey()), {
      ID: (each) => each.id,
      KIND: (each) => each.kind,
      NAME: (each) => each.name ?? '',
      TO: (each) => each.to ?? '',
      SITES: (each) => each.sites ?? 'all',
      TOLD: (each) => each.kinds ?? 'default',
      SEVERITY: (each) => each.severity,
      STATE: (each) => (each.paused ? 'paused' : 'active'),
    });
  });

  subcommand(
    alerts,
    'test <id>',
    'Send a test message to a channel',
    'alerts test 01980000-0000-7000-8000-000000000000',
  ).action(async (id: string, { json }: { json?: true }) => {
    const tested = await testChannel(await session.open(), id);
    await output.show(json, tested, () => card({ ...tested }));
    if (!tested.ok) session.exitCode = 1;
  });

  subcommand(
    alerts,
    'remove <id>',
    'Tell a channel nothing any more; what waits for it is not sent',
    'alerts remove 01980000-0000-7000-8000-000000000000',
  ).action(async (id: string, { json }: { json?: true }) => {
    await removeChannel(await session.open(), CLI_ACTOR, id);
    await output.show(json, { id, removed: true }, () => card({ id, removed: true }));
  });

  for (const [name, paused, description] of [
    ['pause', true, 'Tell a channel nothing until "alerts resume"'],
    ['resume', false, 'Tell a channel again, first of what has not ended'],
  ] as const)
    subcommand(alerts, `${name} <id>`, description, `alerts ${name} 01980000-0000-7000-8000-000000000000`).action(
      async (id: string, { json }: { json?: true }) => {
        const channel = await pauseChannel(await session.open(), CLI_ACTOR, id, paused);
        await output.show(json, channel, () => channelCard(channel));
      },
    );

  subcommand(
    alerts,
    'rules',
    'Show the rules by which something needs attention, or change them',
    'alerts rules --set silentGaps=20',
  )
    .option('--set <name=value>', 'change a rule (may be repeated)', collect)
    .action(async ({ set = [], json }: { set?: string[]; json?: true }) => {
      const changes = Object.fromEntries(set.map(readRule));
      const { log } = await session.openWithAnyKey();
      const rules = set.length === 0 ? await readRules(log) : await changeRules(log, CLI_ACTOR, changes);
      await output.show(json, rules, () => card({ ...rules }));
    });
}

function channelKind(text: string): ChannelKind {
  const kind = CHANNEL_KINDS.find((each) => each === text);
  if (!kind) throw new UsageError(`"${text}" is none of ${CHANNEL_KINDS.join(', ')}.`);
  return kind;
}

function readRule(text: string): [keyof AlertRules, number] {
  const [name, value] = readSetting('--set', 'silentGaps=20', text);
  const limits = RULE_LIMITS[name as keyof AlertRules];
  if (!limits) throw new UsageError(`There is no rule ${name}. The rules are ${Object.keys(RULE_LIMITS).join(', ')}.`);
  const number = /^\d{1,7}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= limits.min && number <= limits.max))
    throw new UsageError(`${name} takes a whole number from ${limits.min} to ${limits.max}.`);
  return [name as keyof AlertRules, number];
}

function channelCard({ sites, kinds, ...channel }: ShownChannel & { readonly secret?: string }): string {
  return card({ ...channel, sites: sites ?? 'all', kinds: kinds ?? 'default' });
}

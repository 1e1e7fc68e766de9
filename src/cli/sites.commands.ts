import { type Command, Option } from 'commander';
import { counted } from '../kernel/counted.js';
import { UserError } from '../kernel/errors.js';
import { readMoves } from '../moves/departures.js';
import { readElsewhere } from '../moves/sites-elsewhere.js';
import { listOtherCells, type SiteElsewhere } from '../sites/other-cells.js';
import { refuseTaken } from '../sites/refuse-taken.js';
import {
  AddSite,
  ChangeAliases,
  ChangeSiteSettings,
  PauseSite,
  RemoveSite,
  ResumeSite,
} from '../sites/site.commands.js';
import type { Site } from '../sites/site.js';
import { siteDocument, siteWithCell } from '../sites/site-document.js';
import { newAliases, parseHost, type SiteRepository } from '../sites/site-repository.js';
import { SITE_FLAGS } from '../sites/site-settings.js';
import { CLI_ACTOR } from './cli-actor.js';
import { type ConfirmationOptions, executeConfirmed, withConfirmation } from './confirmation.js';
import { addMove } from './move.command.js';
import { settingsCard, siteCard, siteWithSettings } from './output/site-output.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { collect, commandGroup, subcommand, UsageError } from './subcommand.js';

/** Placeholder and help text of each option. */
const HELP: Readonly<Record<string, [value: string, help: string]>> = {
  'dedup-window': ['<duration>', 'how long a repeated conversion is a duplicate, 0s to 30d'],
  'bot-threshold': ['<0-100>', 'a visit with this score or more is a bot; lower is stricter'],
  'bot-mode': ['<mode>', 'whether conversions of bots are only counted or filtered'],
  'bot-filter': ['<which>', 'conversions of bots to filter; leads: those without an order'],
  'consent-required': ['<yes|no>', 'whether a person without a consent record counts as opted out'],
  withhold: ['<what>', 'what to withhold after an opt-out: identifiers of visits, everything personal, or everything'],
  country: ['<CC>', 'country of phone numbers without a country code'],
  origin: ['<host>', 'another host whose pages may use the tag'],
  block: ['<address>', 'email address or @domain to filter; an address is stored as a hash'],
  'block-disposable': ['<yes|no>', 'filter disposable email domains'],
  'block-ip': ['<cidr>', 'treat visits from this range as bots'],
  'allow-ip': ['<cidr>', 'never treat visits from this range as bots'],
  'block-ua': ['<text>', 'treat visits whose User-Agent contains this text as bots'],
  'block-country': ['<CC>', 'treat visits from this country as bots'],
  'email-capture': ['<yes|no>', 'whether the tag reads email addresses from forms'],
  'identify-by': ['<what>', 'what a conversion must state; any: email, phone, external id or click id'],
  'strict-fields': [
    '<yes|no>',
    'whether an optional field that is not valid refuses a conversion; otherwise it is dropped',
  ],
  currency: ['<code>', 'currency of a value that is sent without one, such as EUR; USD without this setting'],
};

export function addSites(program: Command, session: Session): void {
  const { output } = session;
  const group = commandGroup(program, 'sites', 'Manage sites and their settings');

  subcommand(
    group,
    'add <host>',
    'Add a site. Its inbound endpoint is disabled until "inbound enable".',
    'sites add shop.example --alias www.shop.example',
  )
    .option('--alias <host>', 'another host of the same site; may be repeated', collect)
    .action(async (host: string, { alias, json }: { alias?: string[]; json?: true }) => {
      const { sites, commands, settings } = await session.open();
      await refuseTaken(sites, settings.otherCells, [host, ...(alias ?? [])].map(parseHost));
      const site = siteDocument(await commands.execute(new AddSite(CLI_ACTOR, host, alias)));
      await output.show(json, site, () => siteCard(site));
      if (!json)
        output.note(`Next: "inbound enable ${site.host}", then "keys create --site ${site.host} --name <label>".`);
    });

  subcommand(group, 'list', 'List all sites, with those of other cells if CELLS names some', 'sites list').action(
    async ({ json }: { json?: true }) => {
      const { postgres, projections, settings } = await session.open();
      await projections.catchUp('sites');
      // Imported here because loading TypeORM takes longer than most commands run.
      const { SiteRow } = await import('../sites/site-row.js');
      const rows = await (await postgres.repository(SiteRow)).find({
        where: { removed: false },
        order: { createdAt: 'ASC', host: 'ASC' },
      });
      const cells = await listOtherCells(settings.otherCells);
      const moves = await readMoves(postgres.pool);
      const elsewhere = await readElsewhere(postgres.pool);
      const here = cells.length === 0 ? {} : { cell: settings.cell };
      const list: (SiteElsewhere & { cell?: string })[] = [
        ...rows.map((row) => ({ ...siteWithCell(row, settings.otherCells, moves, elsewhere), ...here })),
        ...cells.flatMap(({ name, sites = [] }) => sites.map((site) => ({ ...site, cell: name }))),
      ];
      for (const { name, problem } of cells) {
        if (problem === undefined) continue;
        output.error(`The sites of cell ${name} are missing from this list. ${problem}`);
        session.exitCode = 1;
      }
      if (list.length === 0 && !json) return output.note('There is no site yet. Add one with "sites add <host>".');
      await output.showTable(json, list, {
        HOST: (site) => site.host,
        ...(cells.length > 0 && { CELL: (site: { cell?: string }) => site.cell }),
        INBOUND: stateOf,
        ALIASES: (site) => site.aliases,
        CREATED: (site) => site.createdAt,
      });
    },
  );

  subcommand(group, 'show <host>', 'Show a site and its settings', 'sites show shop.example').action(
    async (host: string, { json }: { json?: true }) => {
      const { site, settings } = await session.openSite(host);
      await showWithSettings(json, site, settings.dedupWindowMs);
    },
  );

  const set = subcommand(
    group,
    'set <host>',
    'Change the settings and aliases of a site',
    'sites set shop.example --dedup-window 48h --block @mailinator.com',
  );
  for (const [flag, { list, choices }] of Object.entries(SITE_FLAGS)) {
    const [value, help] = HELP[flag] ?? ['<value>', ''];
    const option = new Option(`--${flag} ${value}`, list ? `${help}; may be repeated` : help);
    set.addOption(choices ? option.choices(choices) : option.argParser(collect));
  }
  set
    .option('--alias <host>', 'add another host of the same site; may be repeated', collect)
    .option('--remove-alias <host>', 'remove such a host; may be repeated', collect)
    .option(
      '--unset <name>',
      'restore the default; <name>=<value> removes one value from a list; may be repeated',
      collect,
    )
    .action(async (hostOrAlias: string, options: Record<string, string | string[]> & { json?: true }) => {
      const values = Object.keys(SITE_FLAGS).flatMap((flag) =>
        given(options[camelCase(flag)]).map((value) => ({ flag, value })),
      );
      const unset = given(options['unset']);
      const aliases = { add: given(options['alias']), remove: given(options['removeAlias']) };
      const hasSettings = values.length + unset.length > 0;
      if (!hasSettings && aliases.add.length + aliases.remove.length === 0) {
        throw new UsageError('Nothing to set: give at least one option. "sites set --help" lists them.');
      }
      const { site: before, sites, commands, dryRunCommands, settings } = await session.openSite(hostOrAlias);
      const { host } = before;
      await refuseTaken(sites, settings.otherCells, newAliases(before, aliases.add), host);
      const changes = [
        new ChangeAliases(CLI_ACTOR, host, aliases),
        ...(hasSettings ? [new ChangeSiteSettings(CLI_ACTOR, host, { set: values, unset })] : []),
      ];
      // All are checked before the first is stored: a command that fails has changed nothing.
      for (const change of changes) await dryRunCommands.execute(change);
      let changed = before;
      for (const change of changes) changed = await commands.execute(change);
      await showWithSettings(options.json, changed, settings.dedupWindowMs);
    });

  for (const [verb, Change, help] of [
    ['pause', PauseSite, 'Store nothing new for a site and send nothing. Senders are asked to try again later.'],
    ['resume', ResumeSite, 'End the pause of a site. What waited is sent.'],
  ] as const) {
    subcommand(group, `${verb} <host>`, help, `sites ${verb} shop.example`).action(
      async (host: string, { json }: { json?: true }) => {
        const { sites, commands } = await session.open();
        await getByHost(sites, host);
        const site = siteDocument(await commands.execute(new Change(CLI_ACTOR, host)));
        await output.show(json, site, () => siteCard(site));
      },
    );
  }

  addMove(group, session);

  withConfirmation(
    subcommand(
      group,
      'remove <host>',
      'Remove a site: it accepts nothing more, its keys are revoked, its platforms disconnected. Events stay.',
      'sites remove shop.example --dry-run',
    ),
  ).action(async (host: string, options: ConfirmationOptions) => {
    const { sites } = await session.open();
    const { connections, keys } = await getByHost(sites, host);
    const disconnected = connections.filter((connection) => !connection.disconnected).map(({ platform }) => platform);
    const revokedKeys = keys.filter(({ status }) => status === 'active').length;
    const question = `Remove ${host}, revoke ${counted(revokedKeys, 'key')} and disconnect ${counted(disconnected.length, 'platform')}?`;
    const site = await executeConfirmed(session, options, { question, unattended: 'require --yes' }, (commands) =>
      commands.execute(new RemoveSite(CLI_ACTOR, host)),
    );
    const { dryRun, json } = options;
    const document = { host: site.host, removed: !dryRun, disconnected, revokedKeys, ...(dryRun && { dryRun }) };
    await output.show(json, document, () => card(document));
    if (!json && !dryRun && disconnected.length > 0)
      output.note('Deliveries that were queued fail with the reason "disconnected". "sites add" adds the host again.');
  });

  async function showWithSettings(json: true | undefined, shown: Site, defaultWindowMs: number): Promise<void> {
    const site = siteWithSettings(shown, defaultWindowMs);
    await output.show(json, site, () => `${siteCard(site)}\n${settingsCard(site.settings)}`);
  }
}

/** By its host only: an alias must not lead to another site than the one that was meant. */
async function getByHost(sites: SiteRepository, host: string): Promise<Site> {
  const site = await sites.get(host);
  if (site.host !== parseHost(host))
    throw new UserError(`${host} is an alias. Give the host of its site: ${site.host}.`);
  return site;
}

/** Whether a site accepts conversions here, and if not, why. */
function stateOf({ inbound, paused, move }: SiteElsewhere): string | boolean {
  if (move?.state === 'left') return `moved to ${move.to}`;
  if (move?.state === 'elsewhere') return `closed: ${move.to} has it`;
  if (move?.state === 'arriving') return move.from === undefined ? 'arriving' : `arriving from ${move.from}`;
  if (paused) return 'paused';
  if (!move) return inbound;
  const { events, total } = move;
  const share = events !== undefined && total ? ` (${Math.floor(Math.min(1, events / total) * 100)} %)` : '';
  return `moving to ${move.to}${share}`;
}

/** The name under which Commander stores an option's value. */
function camelCase(flag: string): string {
  return flag.replace(/-./g, (found) => found.charAt(1).toUpperCase());
}

/** The values of an option, repeated or not. */
function given(value: string | string[] = []): string[] {
  return [value].flat();
}

import type { Command } from 'commander';
import { SITE_FLAGS } from '../sites/site-settings.js';
import { table } from './output.js';
import type { Session } from './session.js';
import { settingsCard, siteCard, siteDocument, siteWithSettings } from './site-output.js';
import { collect, commandGroup, verb, WrongUsage } from './verb.js';

/** What stands behind each flag in the help. */
const HELP: Readonly<Record<string, [value: string, help: string]>> = {
  'dedup-window': ['<duration>', 'how long a repeat counts as one, 0s to 30d'],
  'bot-threshold': ['<0-100>', 'from this score on a visit is a bot; lower is stricter'],
  'bot-mode': ['<mode>', 'observe or enforce'],
  'consent-required': ['<yes|no>', 'whether no consent record counts as an opt-out'],
  withhold: ['<what>', 'after an opt-out: identifiers or everything'],
  country: ['<CC>', 'country of phone numbers that name none'],
  origin: ['<host>', 'pages there may use the tag too'],
  block: ['<who>', 'an address or @domain to filter; an address is stored as its hash'],
  'block-disposable': ['<yes|no>', 'filter throw-away mail domains'],
  'block-ip': ['<cidr>', 'visits from there are bots'],
  'allow-ip': ['<cidr>', 'visits from there are never bots'],
  'block-ua': ['<text>', 'visits whose User-Agent holds this text are bots'],
  'block-country': ['<CC>', 'visits from there are bots'],
  'email-capture': ['<yes|no>', 'whether the tag looks for email addresses in forms'],
};

export function addSites(program: Command, session: Session): void {
  const { output } = session;
  const sites = commandGroup(program, 'sites', 'The sites whose conversions are taken');

  verb(
    sites,
    'add <host>',
    'Add a site. Inbound is off until "inbound enable" switches it on.',
    'sites add shop.example --alias www.shop.example',
  )
    .option('--alias <host>', 'another host of the same site; may be repeated', collect)
    .action(async (host: string, { alias, json }: { alias?: string[]; json?: true }) => {
      const { sites } = await session.open();
      const site = siteDocument(await sites.register(host, alias));
      await output.show(json, site, () => siteCard(site));
      if (!json)
        output.note(`Next: "inbound enable ${site.host}", then "keys create --site ${site.host} --name <label>".`);
    });

  verb(sites, 'list', 'All sites', 'sites list').action(async ({ json }: { json?: true }) => {
    const { postgres, projections } = await session.open();
    await projections.catchUp('sites');
    // Here, not at the top: TypeORM takes longer to load than most verbs take to run.
    const { SiteRow } = await import('../sites/site-row.js');
    const rows = await (await postgres.repository(SiteRow)).find({ order: { createdAt: 'ASC', host: 'ASC' } });
    const list = rows.map(siteDocument);
    if (list.length === 0 && !json) return output.note('There is no site yet. Add one with "sites add <host>".');
    await output.show(json, list, () => {
      return table(list, {
        HOST: (site) => site.host,
        INBOUND: (site) => site.inbound,
        ALIASES: (site) => site.aliases,
        CREATED: (site) => site.createdAt,
      });
    });
  });

  verb(sites, 'show <host>', 'A site and its settings', 'sites show shop.example').action(
    async (host: string, { json }: { json?: true }) => {
      const { sites, settings } = await session.open();
      const site = siteWithSettings(await sites.get(host), settings.dedupWindowMs);
      await output.show(json, site, () => `${siteCard(site)}\n${settingsCard(site.settings)}`);
    },
  );

  const set = verb(
    sites,
    'set <host>',
    "Change a site's settings",
    'sites set shop.example --dedup-window 48h --block @mailinator.com',
  );
  for (const [flag, { list }] of Object.entries(SITE_FLAGS)) {
    const [value, help] = HELP[flag] ?? ['<value>', ''];
    set.option(`--${flag} ${value}`, list ? `${help}; may be repeated` : help, collect);
  }
  set
    .option(
      '--unset <name>',
      'back to the default; <name>=<value> takes one value off a list; may be repeated',
      collect,
    )
    .action(async (host: string, options: Record<string, string[]> & { json?: true }) => {
      const values = Object.keys(SITE_FLAGS).flatMap((flag) =>
        (options[camelCase(flag)] ?? []).map((value) => ({ flag, value })),
      );
      const unset = options['unset'] ?? [];
      if (values.length + unset.length === 0) {
        throw new WrongUsage('Say what to set. "sites set --help" shows what there is.');
      }
      const { sites, settings } = await session.open();
      const { host: known } = await sites.get(host);
      const site = siteWithSettings(await sites.changeSettings(known, { set: values, unset }), settings.dedupWindowMs);
      await output.show(options.json, site, () => `${siteCard(site)}\n${settingsCard(site.settings)}`);
    });
}

/** As Commander names an option's value. */
function camelCase(flag: string): string {
  return flag.replace(/-./g, (found) => found.charAt(1).toUpperCase());
}

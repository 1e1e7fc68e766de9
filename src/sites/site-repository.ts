import { SITE, type SiteEvent, streamIdOf } from '../events/site.events.js';
import type { Actor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { ChangeWithEvents } from '../log/append/append-in-transaction.js';
import type { NewEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { asArriving } from './holding.js';
import { normaliseHost } from './host.js';
import { evolve, isClosed, type Site, scopeStart } from './site.js';

const ATTEMPTS_MAX = 5;

type Events = readonly [SiteEvent, ...SiteEvent[]];

/** Events, and what is stored or deleted in one transaction with them. */
export interface EventsWithChange {
  readonly events: Events;
  readonly change: ChangeWithEvents;
}

/** Several events are appended together or not at all. */
export type Decision = SiteEvent | Events | EventsWithChange | undefined;

/** Reads sites from the log, and changes them by appending the event that a decision returns. */
export class SiteRepository {
  /**
   * In a dry run a change is decided and not appended: it returns the site as it is. `applied` resolves when what was appended
   * before is in force; until then a change is not reported.
   */
  constructor(
    private readonly log: EventLog,
    private readonly options: {
      readonly isDryRun?: boolean;
      readonly applied?: (() => Promise<void>) | undefined;
    } = {},
  ) {}

  /** By host or alias. Also finds a removed site, whose history can be read; `change` refuses it. */
  async get(hostText: string): Promise<Site> {
    const host = parseHost(hostText);
    const site = (await this.findOwner(host)) ?? (await this.everAdded()).find((candidate) => candidate.host === host);
    if (!site) throw new NoSite(host);
    return site;
  }

  /** By its host, not by an alias, and not a removed one. Reads the events of this site only. */
  async findByHost(host: string): Promise<Site | undefined> {
    const history = await this.log.readStream(SITE, streamIdOf(host));
    const site = history.reduce(evolve, undefined as Site | undefined);
    if (!site || site.removed) return undefined;
    return asArriving(site, await this.log.incompleteSites());
  }

  /** The site that has this host or alias. */
  async findOwner(hostText: string): Promise<Site | undefined> {
    const host = parseHost(hostText);
    return (await this.all()).find((site) => site.host === host || site.aliases.includes(host));
  }

  async all(): Promise<Site[]> {
    return (await this.everAdded()).filter(({ removed }) => !removed);
  }

  /** Including removed sites, for what was received before. */
  async everAdded(): Promise<Site[]> {
    const sites = new Map<string, Site>();
    for (let after = 0; ; ) {
      const events = await this.log.read({ after, categories: [SITE], limit: 1_000 });
      for (const event of events) {
        const site = evolve(sites.get(event.stream), event);
        if (site) sites.set(event.stream, site);
      }
      const last = events.at(-1);
      if (!last) break;
      after = last.position;
    }
    // After the events: a site arrives before the first of its own.
    const incomplete = await this.log.incompleteSites();
    return [...sites.values()].map((site) => asArriving(site, incomplete));
  }

  /** Adds a site by the event that `decide` returns, which knows whether an earlier site had the host. */
  async add(
    host: string,
    actor: Actor,
    decide: (earlier: Site | undefined) => Decision | Promise<Decision>,
  ): Promise<Site> {
    return this.append(host, actor, (site) => {
      if (site && !site.removed) throw new UserError(`Site ${host} already exists. "sites show ${host}" shows it.`);
      return decide(site);
    });
  }

  /**
   * Appends what `decide` returns for the current state; without an event the site stays as it is. `decide`
   * runs again when another writer changed the site in the meantime. A site that is in another cell is refused. An alias does not identify a site here.
   */
  async change(host: string, actor: Actor, decide: (site: Site) => Decision | Promise<Decision>): Promise<Site> {
    return this.append(host, actor, (site) => decide(requireOpen(requireSite(site, host))));
  }

  private async append(...change: Parameters<SiteRepository['appendDecided']>): Promise<Site> {
    const site = await this.appendDecided(...change);
    await this.options.applied?.();
    return site;
  }

  private async appendDecided(
    hostText: string,
    actor: Actor,
    decide: (site: Site | undefined) => Decision | Promise<Decision>,
  ): Promise<Site> {
    const host = parseHost(hostText);
    const stream = streamIdOf(host);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const history = await this.log.readStream(SITE, stream);
      const folded = history.reduce(evolve, undefined as Site | undefined);
      const site = folded && asArriving(folded, await this.log.incompleteSites());
      const decision = await decide(site);
      if (!decision || this.options.isDryRun) return site as Site;
      const events: readonly [NewEvent, ...NewEvent[]] =
        'type' in decision ? [decision] : 'events' in decision ? decision.events : decision;
      const request = { category: SITE, stream, expected: history.length, site: host, actor, events };
      const outcome =
        'change' in decision ? await this.log.appendWith(request, decision.change) : await this.log.append(request);
      if (outcome.status === 'appended')
        return (await this.log.readStream(SITE, stream)).reduce(evolve, undefined as Site | undefined) as Site;
    }
    throw new UserError(`Site ${host} is being changed concurrently. Run the command again.`);
  }
}

export function parseHost(text: string): string {
  const host = normaliseHost(text);
  if (!host)
    throw new UserError(`"${text}" is not a host name. Give one such as shop.example, without https:// or a path.`);
  return host;
}

/** Aliases that a site is to get and does not have. */
export function newAliases({ host, aliases }: Site, added: readonly string[]): string[] {
  return added.map(parseHost).filter((name) => name !== host && !aliases.includes(name));
}

/** The position after which the events of a host were of the site that had it at another position. */
export async function scopeStartAt(
  log: Pick<EventLog, 'readStreams'>,
  host: string,
  position: number,
): Promise<number> {
  const history = await log.readStreams(SITE, [streamIdOf(host)]);
  const site = history.filter((event) => event.position <= position).reduce(evolve, undefined as Site | undefined);
  return site ? scopeStart(site) : 0;
}

function requireSite(site: Site | undefined, host: string): Site {
  if (!site || site.removed) throw new NoSite(host);
  return site;
}

/** What another cell has to decide is refused with its name. */
function requireOpen(site: Site): Site {
  if (isClosed(site)) throw new SiteMoved(site);
  return site;
}

/** Another cell acts for the site, or none until its move is complete. */
export class SiteMoved extends UserError {
  constructor({ host, move }: Site) {
    super(
      move && 'to' in move
        ? `Site ${host} has moved to cell ${move.to}. Change it there.`
        : `Site ${host} is on its way to this cell. Change it when "sites move" has finished, in the cell that it comes from.`,
    );
  }
}

export class NoSite extends UserError {
  constructor(readonly host: string) {
    super(`There is no site ${host}. Add it with "sites add ${host}".`);
  }
}

import type { Clock } from '../../kernel/clock.js';
import { withLogTimeout } from '../../kernel/log-timeout.js';
import type { StoredClaim } from '../../log/claims.js';
import type { AppendOutcome, AppendRequest, DedupClaim, Opened } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import type { ImporterDependencies } from './conversion-importer.js';
import { IdSet } from './id-set.js';

type FindClaims = (site: string, keys: readonly string[]) => Promise<Map<string, StoredClaim>>;

interface Lookup {
  readonly key: string;
  readonly resolve: (claim: StoredClaim | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** The log as an import would find it. Stores nothing, and remembers what would have been stored. */
export class DryRunLog implements Pick<EventLog, 'append' | 'find' | 'findOpened' | 'readOpenings'> {
  readonly find: EventLog['find'];
  readonly readOpenings: EventLog['readOpenings'];
  private readonly stored = new IdSet();
  private pending: Lookup[] = [];

  constructor(
    private readonly log: ImporterDependencies['log'],
    private readonly findClaims: FindClaims,
    private readonly clock: Clock,
  ) {
    this.find = (site, reference, some) => log.find(site, reference, some);
    this.readOpenings = (category, streams) => log.readOpenings(category, streams);
  }

  /** The file has too many lines: duplicates among the later ones were not recognised. */
  get isFull(): boolean {
    return this.stored.isFull;
  }

  async findOpened(category: string, streams: readonly string[]): Promise<Map<string, Opened>> {
    const opened = await this.log.findOpened(category, streams);
    for (const stream of streams) if (!opened.has(stream) && this.stored.has(stream)) opened.set(stream, {});
    return opened;
  }

  async append({ site, stream, claim }: AppendRequest): Promise<AppendOutcome> {
    const held = claim && (await this.claimOn(site, claim.key));
    if (held && this.isLive(held, claim)) return { status: 'claimed', by: held.stream };
    this.stored.add(stream);
    return { status: 'appended', position: 0, time: new Date(0).toISOString() };
  }

  private isLive(held: StoredClaim, { weak, windowMs }: DedupClaim): boolean {
    return (weak || !held.weak) && held.atMs > this.clock.nowMs() - windowMs;
  }

  /** Lookups of the same turn of the event loop share a query. */
  private claimOn(site: string, key: string): Promise<StoredClaim | undefined> {
    return new Promise((resolve, reject) => {
      if (this.pending.push({ key, resolve, reject }) === 1) setImmediate(() => void this.lookUp(site));
    });
  }

  private async lookUp(site: string): Promise<void> {
    const lookups = this.pending;
    this.pending = [];
    try {
      const keys = lookups.map(({ key }) => key);
      const claims = await withLogTimeout(this.findClaims(site, keys));
      for (const { key, resolve } of lookups) resolve(claims.get(key));
    } catch (error) {
      for (const { reject } of lookups) reject(error);
    }
  }
}

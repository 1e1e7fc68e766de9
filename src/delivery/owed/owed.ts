import type { EventField } from '../../log/event-log.js';
import type { ConnectionName } from '../../platforms/connection-name.js';

/** Lease of the scan for owed deliveries. Its `reached`: every delivery of a conversion up to it has an outcome. */
export const SCAN_LEASE = 'deliveries-scan';

/** Conversions in memory: some 60 MB. An import stores more: those are read again when half of these are settled. */
const REMEMBERED_MAX = 100_000;

/** A received conversion without an outcome for some of its platforms. */
interface UnsettledConversion {
  readonly position: number;
  readonly site: string;
  /** When its deliveries are owed, by the monotonic clock. */
  readonly owedAtMs: number;
  /** Those without an outcome. While they are all, the list is the same for all conversions, which saves most of the memory. */
  platforms: readonly ConnectionName[];
}

export interface OwedDelivery {
  readonly conversion: string;
  /** Position of the event that the conversion was received with. */
  readonly position: number;
  readonly site: string;
  readonly platform: ConnectionName;
  readonly owedAtMs: number;
}

/**
 * Folds the log, in order, into the conversions without an outcome for some of their platforms. The first outcome settles a
 * delivery here: the projection `deliveries` contains what still waits after it. So does a request for another delivery.
 */
export class UnsettledConversions {
  private readonly byConversion = new Map<string, UnsettledConversion>();
  private readonly parsed = new Map<string, readonly ConnectionName[]>();
  /** Position of the first conversion that is not remembered. Later ones are not either, so that they stay in log order. */
  private missedFrom: number | undefined;

  /** `owedAtMs` is called when a conversion is read: a later step of a clock makes nothing owed too early. */
  constructor(
    private position: number,
    private readonly owedAtMs: (receivedMs: number) => number,
    private readonly rememberedMax = REMEMBERED_MAX,
  ) {}

  /** Everything up to here was read. */
  get readUpTo(): number {
    return this.position;
  }

  /** Every conversion up to here is settled. */
  get settledUpTo(): number {
    for (const { position } of this.byConversion.values()) return position - 1;
    return this.missedFrom === undefined ? this.position : this.missedFrom - 1;
  }

  /** In log order, of those that are remembered. */
  *owed(nowMs: number): Generator<OwedDelivery> {
    for (const [conversion, { position, site, owedAtMs, platforms }] of this.byConversion) {
      if (owedAtMs <= nowMs) for (const platform of platforms) yield { conversion, position, site, platform, owedAtMs };
    }
  }

  apply({ position, stream, isOpening, site, timeMs, value }: EventField): void {
    this.position = position;
    if (value === null) return;
    if (isOpening) {
      const platforms = this.parse(value);
      if (platforms.length === 0) return;
      if (this.byConversion.size >= this.rememberedMax) this.missedFrom ??= position;
      if (this.missedFrom === undefined)
        this.byConversion.set(stream, { position, site, owedAtMs: this.owedAtMs(timeMs), platforms });
      return;
    }
    const conversion = this.byConversion.get(stream);
    if (!conversion) return;
    const settled = this.parse(value);
    conversion.platforms = conversion.platforms.filter((platform) => !settled.includes(platform));
    if (conversion.platforms.length === 0) this.byConversion.delete(stream);
  }

  /**
   * Conversions of sites that have left, or have not arrived yet, are owed by another cell; those of a site whose host another one has
   * got are not owed at all.
   */
  forget(isNotOwed: (site: string, position: number) => boolean): void {
    for (const [conversion, { site, position }] of this.byConversion)
      if (isNotOwed(site, position)) this.byConversion.delete(conversion);
  }

  /** Goes back to the first conversion that is not remembered, once there is room for more. */
  readMissedAgain(): void {
    if (this.missedFrom === undefined || this.byConversion.size > this.rememberedMax / 2) return;
    this.position = this.missedFrom - 1;
    this.missedFrom = undefined;
  }

  /** The rest of the position range contains no event for this fold. */
  skipTo(position: number): void {
    this.position = Math.max(this.position, position);
  }

  /** Conversions share few lists of platforms, so each is parsed once. */
  private parse(value: string): readonly ConnectionName[] {
    let platforms = this.parsed.get(value);
    if (!platforms) {
      platforms = toPlatforms(value);
      if (this.parsed.size >= PARSED_MAX) this.parsed.clear();
      this.parsed.set(value, platforms);
    }
    return platforms;
  }
}

const PARSED_MAX = 1_000;

/** A name, or a list of names. Anything else is no event of this service. */
function toPlatforms(json: string): ConnectionName[] {
  const parsed: unknown = JSON.parse(json);
  const list = Array.isArray(parsed) ? parsed : [parsed];
  return list.filter((name) => typeof name === 'string') as ConnectionName[];
}

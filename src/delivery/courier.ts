import { type Outcome } from '../events/delivery.events.js';
import type {
  Connection,
  Platform,
  PlatformName,
  PlatformRequest,
  PlatformResponse,
  Settings,
} from '../platforms/platform.js';
import { type SiteConnection, settingsAt } from '../sites/connection.js';
import type { LoadedConnection, LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import type { AccessTokens } from './access-tokens.js';
import { isoTime, type Words } from './delivery.js';
import { Lane, type LaneResult } from './lane.js';
import { type ReceivedConversion, type Spelled, spell } from './received.js';
import { nextTryMs, type RetryRules, sendableForMs } from './retry-schedule.js';

/** Where nothing was tried: for room in memory, or for somebody to mend the connection. Only then it is taken again. */
const SOON_MS = 5_000;

export interface CourierWorld {
  platform(name: PlatformName): Platform | undefined;
  send(platform: Platform, request: PlatformRequest, connection: Connection): Promise<PlatformResponse>;
  /** The operators' verbs, on the courier's own findings. */
  park(site: string, platform: PlatformName, reason: string): Promise<void>;
  pause(site: string, platform: PlatformName, reason: string): Promise<void>;
  resume(site: string, platform: PlatformName): Promise<void>;
  fault(error: unknown): void;
  /** For the metrics. */
  count(outcome: Outcome): void;
}

/** One conversion to one platform. */
export interface Errand {
  readonly received: ReceivedConversion;
  readonly platform: PlatformName;
  readonly attempt: number;
  readonly eventId?: string | undefined;
  /** As of which position the settings count, where it is not that of the conversion. */
  readonly settings?: number | undefined;
  /** The version of the event in its stream that brought the visit, where it came later than the conversion. */
  readonly reopened?: number | undefined;
  /** Of the first sending. */
  readonly bodySha256?: string | undefined;
  readonly alone?: boolean;
  readonly probe?: boolean;
  readonly mayGo: () => boolean;
}

/** Carries conversions to platforms: spells them, finds their lane, and puts the result into words for the log. */
export class Courier {
  private readonly lanes = new Map<string, Lane>();

  constructor(
    private readonly directory: SiteDirectory,
    private readonly tokens: AccessTokens,
    private readonly world: CourierWorld,
    private readonly rules: RetryRules & { readonly confirmationPollMs: number },
  ) {}

  /** `done` gets the outcome, or nothing when this process may no longer act for the conversion. */
  carry(errand: Errand, done: (outcome: Outcome | undefined) => void): void {
    const tell = (words: Words) => {
      const outcome = named(errand, words);
      this.world.count(outcome);
      done(outcome);
    };
    const prepared = this.prepareSafely(errand);
    if ('status' in prepared) {
      tell(prepared);
      return;
    }
    const { body, group } = prepared.spelled;
    prepared.lane.offer({
      body,
      group,
      alone: errand.alone ?? false,
      probe: errand.probe ?? false,
      mayGo: errand.mayGo,
      done: (result) => {
        if (result.status === 'forbidden') done(undefined);
        else tell(this.inWords(result, prepared, errand));
      },
    });
  }

  private prepareSafely(errand: Errand): Prepared | Words {
    try {
      return this.prepare(errand);
    } catch (error) {
      // Our own mistake: the conversion is kept, and sent by a version that knows better.
      this.world.fault(error);
      return this.later(errand, { reason: 'server_error', bodySha256: errand.bodySha256 });
    }
  }

  /** The payload and its lane, or what became of it without being sent. */
  private prepare({
    received,
    platform: name,
    attempt,
    eventId,
    settings,
    bodySha256: sent,
  }: Errand): Prepared | Words {
    const platform = this.world.platform(name);
    const open = this.directory.find(received.site);
    const connection = open?.connections.get(name);
    if (!platform || !open || !connection) return { status: 'failed', reason: 'disconnected' };
    if (!received.personal) return { status: 'failed', reason: 'erased' };
    if (received.data.withheld !== undefined && open.site.settings.withhold === 'everything')
      return { status: 'skipped', reason: 'consent_denied' };
    const ageMs = Date.now() - Date.parse(received.time);
    if (ageMs > sendableForMs(platform, this.rules))
      return attempt > 1 ? GAVE_UP : { status: 'skipped', reason: 'too_old' };

    const spelled = spell(
      received,
      platform,
      settingsAsOf(connection.connection, settings ?? received.data.settings),
      eventId,
    );
    if ('skip' in spelled) return { status: 'skipped', reason: spelled.skip };
    const { bodySha256 } = spelled;
    // Another version of the service may spell differently: what was sent under this id once is not sent otherwise.
    if (sent !== undefined && sent !== bodySha256) return { status: 'failed', reason: 'body_changed', bodySha256 };
    if (received.data.trial) return { status: 'validated', bodySha256 };
    return { platform, spelled, lane: this.lane(open, platform) };
  }

  /** How many more conversions the platform's lane would take now. */
  room(site: string, name: PlatformName): number {
    const platform = this.world.platform(name);
    const open = this.directory.find(site);
    if (!platform || !open?.connections.has(name)) return 1;
    return this.lane(open, platform).room;
  }

  isParked(site: string, name: PlatformName): boolean {
    return this.directory.find(site)?.connections.get(name)?.connection.state === 'parked';
  }

  tick(): void {
    for (const lane of this.lanes.values()) lane.tick();
  }

  private inWords(result: LaneResult, { platform, spelled }: Prepared, errand: Errand): Words {
    const { status, reason, durationMs, httpStatus, requestId, response } = result;
    const told = { reason, durationMs, httpStatus, requestId, bodySha256: spelled.bodySha256, response };
    switch (status) {
      case 'deferred':
        return this.later(errand, told, result.afterMs);
      case 'accepted': {
        const isAsked = platform.confirmation && requestId !== undefined;
        const nextTry = isAsked ? isoTime(Date.now() + this.rules.confirmationPollMs) : undefined;
        return { ...told, status, nextTry };
      }
      default:
        return { ...told, status: status === 'delivered' ? status : 'failed' };
    }
  }

  /** Another try at its time, unless that would be too late. */
  private later({ received, attempt, platform: name }: Errand, told: Partial<Outcome>, afterMs?: number): Words {
    const nowMs = Date.now();
    const failed = { attempt, receivedMs: Date.parse(received.time), nowMs, afterMs, chance: Math.random() };
    const platform = this.world.platform(name) as Platform;
    const next = waitOf(told.reason, nowMs) ?? nextTryMs(failed, platform, this.rules);
    return next === undefined ? { ...told, ...GAVE_UP } : { ...told, status: 'deferred', nextTry: isoTime(next) };
  }

  private lane(open: LoadedSite, platform: Platform): Lane {
    const site = open.site.host;
    const key = `${site} ${platform.name}`;
    let lane = this.lanes.get(key);
    if (!lane) {
      lane = this.makeLane(site, platform);
      this.lanes.set(key, lane);
    }
    return lane;
  }

  private makeLane(site: string, platform: Platform): Lane {
    const { name } = platform;
    const world = {
      state: () => {
        const open = this.directory.find(site)?.connections.get(name);
        // Without its secrets it waits for somebody to give them, like one whose secrets are wrong.
        return open && open.missingSecrets.length > 0 ? ('parked' as const) : open?.connection.state;
      },
      connection: () => {
        const open = this.directory.find(site)?.connections.get(name);
        return open && asConnection(open);
      },
      send: (request: PlatformRequest, connection: Connection) => this.world.send(platform, request, connection),
      accessToken: (connection: Connection, stale?: string) => this.tokens.get(site, platform, connection, stale),
      park: (reason: string) => this.world.park(site, name, reason),
      pause: (reason: string) => this.world.pause(site, name, reason),
      resume: () => this.world.resume(site, name),
      fault: (error: unknown) => this.world.fault(error),
    };
    return new Lane(platform, world, this.rules.scheduleMs[0] as number);
  }
}

interface Prepared {
  readonly platform: Platform;
  readonly spelled: Spelled;
  readonly lane: Lane;
}

const GAVE_UP = { status: 'failed', reason: 'gave_up' } as const;

export function asConnection({ connection, secrets }: LoadedConnection): Connection {
  return { settings: connection.settings, secrets, endpoint: connection.endpoint };
}

/** As they were when the conversion came in, or when an operator asked for it. */
export function settingsAsOf(connection: SiteConnection, position: number | undefined): Settings {
  return settingsAt(connection, position ?? Number.MAX_SAFE_INTEGER) ?? connection.settings;
}

/** Written out: on the way of every conversion, and spreading one object over another costs more than the rest of it. */
function named({ received, platform, attempt, eventId, settings, reopened, alone }: Errand, words: Words): Outcome {
  return {
    conversionId: received.data.conversionId,
    platform,
    attempt,
    status: words.status,
    reason: words.reason,
    durationMs: words.durationMs,
    httpStatus: words.httpStatus,
    requestId: words.requestId,
    bodySha256: words.bodySha256,
    response: words.response,
    nextTry: words.nextTry,
    alone: alone && words.status === 'deferred' ? true : undefined,
    eventId,
    settings,
    reopened,
  };
}

/** Some waits are not the schedule's. */
function waitOf(reason: string | undefined, nowMs: number): number | undefined {
  return reason === 'pending' || reason === 'authorization' || reason === 'paused' ? nowMs + SOON_MS : undefined;
}

import { AccessTokens } from '../../src/delivery/connections/access-tokens.js';
import type { PlatformClient } from '../../src/delivery/connections/platform-client.js';
import type { TokenState, TokenStore } from '../../src/delivery/connections/token-store.js';
import {
  type AttemptResult,
  DestinationQueue,
  type DestinationQueueDependencies,
} from '../../src/delivery/destination-queue.js';
import { buildPayload, type DeliveryPayload } from '../../src/delivery/payload/payload.js';
import type { ReceivedConversion } from '../../src/delivery/received-conversion.js';
import type { Conversion } from '../../src/platforms/conversion.js';
import type { Connection, Platform, Settings, Skip, SkipReason } from '../../src/platforms/platform.js';
import type { PlatformCase } from './platform-cases.js';

const SITE = 'shop.example';
const OPEN_MS = 60_000;
let tenants = 0;

export type DeliveryResult = AttemptResult | { readonly status: 'skipped'; readonly reason: SkipReason };

/** The sandbox's ledger of one platform and tenant. */
export interface Account {
  readonly items: number;
  readonly accepted: number;
  readonly repeats: number;
  readonly repeatsChanged: number;
  readonly problemKinds: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, { readonly times: number; readonly bodies: readonly string[] }>>;
  readonly eventRequests: number;
  readonly tokenRequests: number;
}

/** Delivers to the sandbox with the real client, token handling and destination queue, as a separate tenant. */
export class ConnectedPlatform {
  readonly parked: string[] = [];
  readonly paused: string[] = [];
  readonly refreshTokens: string[] = [];
  connection: Connection;
  private readonly platform: Platform;
  private readonly invalidate: (body: string) => string;
  private readonly tokens: AccessTokens;
  private readonly queue: DestinationQueue;
  private readonly tenant = `t${++tenants}`;
  private readonly faults: unknown[] = [];
  private state: 'active' | 'paused' | 'parked' = 'active';

  constructor(
    platformCase: PlatformCase,
    private readonly sandboxUrl: string,
    client: PlatformClient,
  ) {
    const { platform, connection, invalidate = withoutHashes } = platformCase;
    this.platform = platform;
    this.invalidate = invalidate;
    this.connection = { ...connection, endpoint: `${sandboxUrl}/${platform.name}@${this.tenant}` };
    this.tokens = new AccessTokens(client, this.tokenStore());
    const dependencies: DestinationQueueDependencies = {
      nowMs: () => Date.now(),
      destination: () => ({ state: this.state, connection: this.connection }),
      request: (version, request, connection) => client.request(version, request, connection),
      accessToken: (_, connection, stale) => this.accessToken(connection, stale),
      changes: async () => ({ optedOut: new Set(), erased: new Set() }),
      park: async (reason) => {
        this.state = 'parked';
        this.parked.push(reason);
      },
      pause: async (reason) => {
        this.state = 'paused';
        this.paused.push(reason);
      },
      resume: async () => {
        this.state = 'active';
      },
      onError: (error) => void this.faults.push(error),
    };
    this.queue = new DestinationQueue(platform, dependencies, OPEN_MS);
  }

  /** In memory, for one process. */
  private tokenStore(): TokenStore {
    let state: TokenState = {};
    const refreshToken = () => this.connection.secrets['refresh_token'] as string;
    return {
      nowMs: () => Date.now(),
      lock: async () => ({ held: true, release: async () => {} }),
      read: async () => ({ connection: this.connection, refreshToken: refreshToken(), state }),
      replace: async (_site, _platform, _expected, next) => {
        state = next;
        if (next.refreshToken === undefined || next.refreshToken === refreshToken()) return true;
        this.refreshTokens.push(next.refreshToken);
        const secrets = { ...this.connection.secrets, refresh_token: next.refreshToken };
        this.connection = { ...this.connection, secrets };
        return true;
      },
    };
  }

  accessToken(connection = this.connection, stale?: string): Promise<string | undefined> {
    const { platform } = this;
    return this.tokens.get({ site: SITE, name: platform.name, platform }, connection, stale);
  }

  buildPayload(conversion: Conversion, settings: Settings = {}): DeliveryPayload | Skip {
    const { payloadVersion, isAnonymous } = conversion;
    return buildPayload(
      asReceived(conversion),
      this.platform,
      { ...this.connection.settings, ...settings },
      { payloadVersion, withhold: isAnonymous ? 'personal' : undefined },
    );
  }

  /** Queues all conversions in one turn of the event loop, so that they share requests where possible. */
  async send(
    conversions: readonly Conversion[],
    { alone = false, invalid }: { readonly alone?: boolean; readonly invalid?: number } = {},
  ): Promise<DeliveryResult[]> {
    const results = await Promise.all(
      conversions.map((conversion, index) => {
        const payload = this.buildPayload(conversion);
        if ('skip' in payload) return { status: 'skipped', reason: payload.skip } as const;
        const body = index === invalid ? this.invalidate(payload.body) : payload.body;
        return new Promise<AttemptResult>((done) => {
          this.queue.enqueue({
            payload: { ...payload, body },
            bound: false,
            alone,
            probe: false,
            mayDeliver: () => true,
            decided: { atMs: performance.now(), position: 1 },
            done,
          });
        });
      }),
    );
    if (this.faults.length > 0) throw this.faults[0];
    return results;
  }

  async sendOne(conversion: Conversion): Promise<DeliveryResult> {
    const [result] = await this.send([conversion]);
    return result as DeliveryResult;
  }

  resume(): void {
    this.state = 'active';
  }

  /** Sets the behaviour of the sandbox, until it is replaced or for a number of requests. */
  async behave(mode: string, more: object = {}): Promise<void> {
    const behaviour = { platform: this.platform.name, tenant: this.tenant, mode, ...more };
    const response = await fetch(`${this.sandboxUrl}/behave`, { method: 'POST', body: JSON.stringify(behaviour) });
    if (!response.ok) throw new Error(await response.text());
  }

  account(): Promise<Account> {
    return accountOf(this.sandboxUrl, this.platform.name, this.tenant);
  }
}

interface LedgerView {
  readonly recent: readonly { readonly path: string }[];
}

export async function accountOf(sandboxUrl: string, platform: string, tenant: string): Promise<Account> {
  const response = await fetch(`${sandboxUrl}/ledger?platform=${platform}&tenant=${tenant}`);
  const view = (await response.json()) as LedgerView & Record<string, Record<string, Account> | undefined>;
  const tokenRequests = view.recent.filter(({ path }) => /token$/i.test(path)).length;
  const account = view[platform]?.[tenant] ?? EMPTY_ACCOUNT;
  return { ...account, tokenRequests, eventRequests: view.recent.length - tokenRequests };
}

const EMPTY_ACCOUNT = { items: 0, accepted: 0, repeats: 0, repeatsChanged: 0, problemKinds: {}, events: {} };

/** Replaces the hashes: every built-in platform that validates refuses a value that is not a hash. */
function withoutHashes(body: string): string {
  return body.replace(/[0-9a-f]{64}/g, 'not-a-hash');
}

function asReceived(conversion: Conversion) {
  const { id, eventId, event, value, currency, orderId, timeMs, source, items, consent, sentConsent } = conversion;
  const { hashes, visit, externalId, address, clickIds, custom, personalization } = conversion;
  const stated = eventId !== (orderId ?? id) && { eventId };
  return {
    site: SITE,
    position: 1,
    time: new Date(timeMs).toISOString(),
    data: {
      ...{ conversionId: id, event, value, currency, orderId, keyId: 'k1', trial: false, consent },
      ...{ source, items: items && [...items], sentConsent, ...stated, ...(personalization && { personalization }) },
    },
    personal: { ...hashes, ...(visit && { visit }), externalId, address, clickIds, custom },
  } satisfies ReceivedConversion;
}

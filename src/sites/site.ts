import { SITE, type SiteSettings } from '../events/site.events.js';
import type { StoredEvent } from '../log/event.js';
import { evolveConnections, type SiteConnection, withPositions } from './connections/connection.js';
import { evolveFilters, listsOf, type SiteFilter } from './site-filters.js';
import { DEFAULT_SITE_SETTINGS } from './site-settings.js';
import { evolveSources, type SiteSource } from './sources/site-source.js';
import { evolveWebhook, type SiteWebhook } from './webhook.js';

export interface SiteKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  /** SHA-256 of the key. It contains 32 random bytes, so the hash cannot be reversed. */
  readonly hash: string;
  readonly trial: boolean;
  readonly createdAt: string;
  readonly status: 'active' | 'revoked';
  /** Set when a new key replaced this one: until then both are accepted. */
  readonly rotation?: { readonly newKeyId: string; readonly expiresAt: string } | undefined;
}

/** `expired`: the overlap with the key that replaced it has ended. No event says so. */
export function keyState({ status, rotation }: SiteKey, nowMs: number): SiteKey['status'] | 'expired' {
  return status === 'active' && rotation && nowMs >= Date.parse(rotation.expiresAt) ? 'expired' : status;
}

/** State of a site that is not, or will not stay, in this cell. */
export type SiteMove =
  /** It is paused until the rest is copied. */
  | { readonly state: 'leaving'; readonly to: string }
  /** `address`: where the other cell accepts requests for the site. */
  | { readonly state: 'left'; readonly to: string; readonly address?: string | undefined }
  /** Its events are being copied into this log. */
  | { readonly state: 'arriving' }
  /** Another cell has proved that it got the site from here. This log does not know: it was restored, or failed over. */
  | { readonly state: 'elsewhere'; readonly to: string };

interface Held {
  readonly paused?: boolean;
  readonly move?: SiteMove | null | undefined;
}

/**
 * Paused: nothing new is stored for the site, and nothing is sent: no delivery, and no totals. Moved: another cell acts for it, or none
 * until its move is complete. The append enforces both, by `cc.paused_sites`.
 */
export function stateOf({ paused, move }: Held): 'open' | 'paused' | 'moved' {
  if (move && move.state !== 'leaving') return 'moved';
  return paused || move ? 'paused' : 'open';
}

export function isClosed(site: Held): boolean {
  return stateOf(site) === 'moved';
}

export function isHeld(site: Held): boolean {
  return stateOf(site) !== 'open';
}

/** A customer's site with its API keys, platform connections and webhook, folded from its events. */
export interface Site {
  readonly id: string;
  readonly host: string;
  /** Position of its first event, if an earlier site had the host: what came before is not of this site. */
  readonly since?: number | undefined;
  readonly aliases: readonly string[];
  readonly inbound: boolean;
  /** By an operator. */
  readonly paused: boolean;
  /** When it began to accept conversions again, after inbound was off, a pause or a move. */
  readonly openSince?: string | undefined;
  /** How often the site has moved from cell to cell, or was about to. */
  readonly epoch: number;
  /** The move by which it came into this cell the last time; undefined if it was added here. */
  readonly arrivedBy?: number | undefined;
  readonly move?: SiteMove | undefined;
  readonly settings: SiteSettings;
  /** The lists of the settings that name people or networks, with those whose values are erased. */
  readonly filters: readonly SiteFilter[];
  readonly keys: readonly SiteKey[];
  /** Including disconnected ones. */
  readonly connections: readonly SiteConnection[];
  /** Senders of webhooks that are connected. */
  readonly sources: readonly SiteSource[];
  /** Receives the site's totals. Undefined until it is set. */
  readonly webhook?: SiteWebhook | undefined;
  readonly createdAt: string;
  /** It accepts nothing and belongs to no list. Its keys, connections and webhook stay for what was received before. */
  readonly removed?: true | undefined;
}

/**
 * Ignores unknown types: an older version of the service may read the log of a newer one. The events do not tell whether the site is
 * on its way into this log (`asHeld`).
 */
export function evolve(site: Site | undefined, event: StoredEvent): Site | undefined {
  if (event.type === 'site.registered.v1') {
    const { host, aliases, id } = event.data;
    // Without an id, a site that versions before 0.3 added again continues the earlier one.
    const earlier = id === undefined ? site : undefined;
    return {
      id: id ?? event.stream.slice(SITE.length + 1),
      host,
      since: id === undefined ? site?.since : event.position,
      aliases,
      inbound: false,
      paused: false,
      // Other cells tell by it which of them has the host.
      epoch: site?.epoch ?? 0,
      arrivedBy: earlier?.arrivedBy,
      settings: DEFAULT_SITE_SETTINGS,
      filters: [],
      // Revoked keys, disconnected platforms, a disabled webhook.
      keys: earlier?.keys ?? [],
      connections: earlier?.connections ?? [],
      sources: earlier?.sources ?? [],
      webhook: earlier?.webhook,
      createdAt: event.time,
    };
  }
  if (!site) return undefined;
  switch (event.type) {
    case 'site.aliases_changed.v1':
      return { ...site, aliases: event.data.aliases };
    case 'site.removed.v1':
      return { ...site, aliases: [], inbound: false, paused: false, removed: true };
    case 'site.inbound_enabled.v1':
      return { ...site, inbound: true, openSince: event.time };
    case 'site.inbound_disabled.v1':
      return { ...site, inbound: false };
    case 'site.paused.v1':
      return { ...site, paused: true };
    case 'site.resumed.v1':
      return { ...site, paused: false, openSince: event.time };
    case 'site.move_started.v1':
      return { ...site, epoch: event.data.epoch, move: { state: 'leaving', to: event.data.to } };
    case 'site.moved_out.v1': {
      const { to, epoch, address, positions } = event.data;
      const connections = positions ? site.connections.map((each) => withPositions(each, positions)) : site.connections;
      return { ...site, epoch, connections, move: { state: 'left', to, ...(address !== undefined && { address }) } };
    }
    case 'site.moved_in.v1': {
      const { epoch } = event.data;
      return { ...site, epoch, move: undefined, arrivedBy: epoch, openSince: event.time };
    }
    case 'site.move_cancelled.v1':
      return { ...site, move: undefined, openSince: event.time };
    case 'site.key_issued.v1': {
      const { keyId, name, prefix, hash, trial } = event.data;
      const key: SiteKey = { id: keyId, name, prefix, hash, trial, createdAt: event.time, status: 'active' };
      return { ...site, keys: [...site.keys, key] };
    }
    case 'site.key_revoked.v1':
      return withKey(site, event.data.keyId, { status: 'revoked' });
    case 'site.key_rotated.v1': {
      const { keyId, ...rotation } = event.data;
      return withKey(site, keyId, { rotation });
    }
    case 'site.settings_changed.v1':
      return withFilters({ ...site, settings: { ...site.settings, ...event.data.settings } }, event);
    case 'site.filter_added.v1':
    case 'site.filter_removed.v1':
      return withFilters(site, event);
    case 'site.platform_connected.v1':
    case 'site.platform_disconnected.v1':
    case 'site.platform_paused.v1':
    case 'site.platform_resumed.v1':
    case 'site.platform_parked.v1':
      return {
        ...site,
        connections: evolveConnections(site.connections, event, {
          ...event,
          position: site.epoch === 0 ? event.position : undefined,
        }),
      };
    case 'site.source_connected.v1':
    case 'site.source_disconnected.v1':
      return { ...site, sources: evolveSources(site.sources, event, event.time) };
    case 'site.webhook_configured.v1':
    case 'site.webhook_enabled.v1':
    case 'site.webhook_disabled.v1':
      return { ...site, webhook: evolveWebhook(site.webhook, event, event) };
    default:
      return site;
  }
}

/** Whose events are read: those of a site; with its host alone, also those of earlier sites that had it. */
export type SiteScope = Pick<Site, 'host' | 'since'>;

/** The position after which the events of the host are in the scope. */
export function scopeStart({ since }: Pick<Site, 'since'>): number {
  return since === undefined ? 0 : since - 1;
}

function withFilters(site: Site, event: StoredEvent): Site {
  const filters = evolveFilters(site.filters, event);
  return filters === site.filters ? site : { ...site, filters, settings: { ...site.settings, ...listsOf(filters) } };
}

function withKey(site: Site, keyId: string, change: Partial<SiteKey>): Site {
  return { ...site, keys: site.keys.map((key) => (key.id === keyId ? { ...key, ...change } : key)) };
}

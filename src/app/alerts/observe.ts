import { isClosed, isHeld, type Site } from '../../sites/site.js';
import { type AttentionDependencies, serviceAttention, sitesAttention } from '../attention/attention.js';
import type { AttentionItem } from '../attention/attention-item.js';
import { readRules } from '../attention/rules.js';
import { tokenItems } from '../attention/service-items.js';
import type { Observation } from './alert-state.js';
import type { AlertKind } from './channel.js';

/** What is counted from projections, and which ones. */
const COUNTED: Readonly<Partial<Record<AlertKind, readonly string[]>>> = {
  deliveries_owed: ['deliveries'],
  deliveries_expired: ['statistics'],
  deliveries_failing: ['deliveries', 'statistics'],
  events_unmapped: ['statistics'],
  consent_unknown: ['statistics'],
  consent_choice: ['statistics'],
  no_conversions: ['statistics'],
  match_rate_down: ['match_rate'],
};

/** Everything that needs attention, whoever may see it: administrators choose who is told of what. */
export async function observe(
  dependencies: AttentionDependencies,
  sites: readonly Site[],
  nowMs: number,
): Promise<Pick<Observation, 'items' | 'isUnknown'>> {
  const { items } = await sitesAttention(dependencies, sites);
  const ofService = await serviceAttention(dependencies);
  const tokens = tokenItems(await readTokens(dependencies), await readRules(dependencies.log), nowMs);
  return { items: [...items, ...ofService, ...tokens], isUnknown: unknownBy(sites, ofService) };
}

/**
 * A paused site has one item, that it is paused: the others neither end nor begin by that. What is counted by a projection that is
 * behind, or being rebuilt, is not known either. A site that was removed, or has moved, needs nothing here any more.
 */
export function unknownBy(sites: readonly Site[], ofService: readonly AttentionItem[]): Observation['isUnknown'] {
  const held = new Set(sites.filter((site) => isHeld(site) && !isClosed(site)).map(({ host }) => host));
  const behind = new Set(
    ofService.flatMap(({ kind, subject }) => (kind.startsWith('projection_') && subject ? [subject] : [])),
  );
  return ({ kind, site }) =>
    (site !== undefined && held.has(site) && !kind.startsWith('site_')) ||
    (COUNTED[kind] ?? []).some((projection) => behind.has(projection));
}

async function readTokens({ postgres }: AttentionDependencies) {
  const { rows } = await postgres.pool.query<{
    id: string;
    name: string;
    expiresAt: Date | null;
    revokedAt: Date | null;
  }>(
    `SELECT t.id, t.name, t.expires_at AS "expiresAt", t.revoked_at AS "revokedAt"
       FROM cc.api_tokens t JOIN cc.users u ON u.id = t.owner_id WHERE u.disabled_at IS NULL AND t.revoked_at IS NULL`,
  );
  return rows;
}

import { type SiteSettings } from '../events/site.events.js';
import type { Cell } from '../kernel/settings.js';
import type { SiteMove } from './site.js';

/** A site as folded from the log, or as a row of its projection. */
export interface SiteFields {
  readonly id: string;
  readonly host: string;
  readonly aliases: readonly string[];
  readonly inbound: boolean;
  readonly paused: boolean;
  readonly epoch: number;
  readonly move?: SiteMove | null | undefined;
  readonly settings: SiteSettings;
  readonly createdAt: string | Date;
  readonly removed?: boolean | undefined;
}

export function siteDocument(site: SiteFields) {
  const { id, host, aliases, inbound, paused, epoch, move, createdAt, removed } = site;
  return {
    id,
    host,
    aliases,
    inbound,
    createdAt: new Date(createdAt).toISOString(),
    ...(paused && { paused: true as const }),
    ...(epoch > 0 && { epoch }),
    ...(move && { move: moveDocument(move) }),
    ...(removed && { removed: true as const }),
  };
}

function moveDocument(move: SiteMove) {
  return { state: move.state, ...('to' in move && { to: move.to }) };
}

/** With the address of the cell that the site moves to. */
export function siteWithCell(site: SiteFields, cells: readonly Cell[]) {
  const document = siteDocument(site);
  const { move } = document;
  const cell = move && cells.find(({ name }) => name === move.to);
  return { ...document, ...(cell && { move: { ...move, url: cell.url } }) };
}

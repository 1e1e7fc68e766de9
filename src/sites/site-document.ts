import type { Cell } from '../kernel/settings/settings.js';
import { asHeld, type Holding } from './holding.js';
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
  readonly createdAt: string | Date;
  readonly removed?: boolean | undefined;
}

/** Move of a site to or from another cell. */
export interface MoveDocument {
  /** `copying`: nothing has changed yet. */
  readonly state: SiteMove['state'] | 'copying';
  readonly to?: string;
  readonly from?: string;
  /** Events that are copied, of so many. */
  readonly events?: number;
  readonly total?: number;
  /** Address of the other cell. */
  readonly url?: string;
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

function moveDocument(move: SiteMove): MoveDocument {
  return { state: move.state, ...('to' in move && { to: move.to }) };
}

/** How far the move of a site has come. */
export interface SiteProgress {
  readonly site: string;
  readonly direction: 'in' | 'out';
  /** The other cell. */
  readonly cell: string;
  readonly events: number;
  /** Null in the cell that the site moves to. */
  readonly total: number | null;
}

/** With how far its move has come, and the address of the other cell. `elsewhere`: sites that other cells have. */
export function siteWithCell(
  logged: SiteFields,
  cells: readonly Cell[],
  progress: readonly SiteProgress[] = [],
  elsewhere: readonly Holding[] = [],
) {
  const site = asHeld(logged, elsewhere);
  const document = siteDocument(site);
  const state = site.move?.state ?? 'copying';
  const direction = state === 'arriving' ? 'in' : state === 'elsewhere' ? undefined : 'out';
  const found = progress.find((each) => each.site === site.host && each.direction === direction);
  if (!document.move && !found) return document;
  const other = found?.cell ?? document.move?.to;
  const cell = cells.find(({ name }) => name === other);
  const move: MoveDocument = {
    ...{ state, ...document.move },
    ...(found && (found.direction === 'out' ? { to: found.cell } : { from: found.cell })),
    ...(found && { events: found.events, ...(found.total !== null && { total: found.total }) }),
    ...(cell && { url: cell.url }),
  };
  return { ...document, move };
}

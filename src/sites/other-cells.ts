import { HttpClient } from '../http/client/http-client.js';
import type { HttpResponse } from '../http/client/response.js';
import { messageOf, UserError } from '../kernel/errors.js';
import type { Cell } from '../kernel/settings/settings.js';
import type { StatedArrival } from './holding.js';
import type { MoveDocument } from './site-document.js';

const TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 4;
/** More than ten thousand sites. */
const LIST_MAX_BYTES = 4 * 1024 * 1024;

export const UNREADABLE =
  'It lists a site in a form that this version does not read. Upgrade the older one of the two.';

/** What this cell needs to know of a site of another one, which may run another version. */
export interface SiteElsewhere {
  readonly id: string;
  readonly host: string;
  readonly aliases: readonly string[];
  readonly inbound: boolean;
  readonly createdAt: string;
  readonly paused?: true;
  /** How often it has moved, or begun to. */
  readonly epoch?: number;
  /** Statement about the move by which the site has come to that cell. */
  readonly arrived?: StatedArrival;
  readonly move?: MoveDocument;
}

export interface OtherCell {
  readonly name: string;
  /** Address of its management API and dashboard. */
  readonly url: string;
  /** Undefined if it did not answer. */
  readonly sites?: readonly SiteElsewhere[];
  /** Why it did not, and what to do. */
  readonly problem?: string;
}

/** Asks the management APIs of the other cells for their sites. A cell that does not answer is part of the result. */
export async function listOtherCells(cells: readonly Cell[]): Promise<OtherCell[]> {
  if (cells.length === 0) return [];
  const client = new HttpClient({
    connectionsPerOrigin: CONNECTIONS_MAX,
    timeoutMs: TIMEOUT_MS,
    allowPrivate: true,
    textMaxBytes: LIST_MAX_BYTES,
  });
  try {
    return await Promise.all(cells.map((cell) => listCell(client, cell)));
  } finally {
    await client.close();
  }
}

async function listCell(client: HttpClient, { name, url, token }: Cell): Promise<OtherCell> {
  try {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    return { name, url, ...readList(await client.send({ method: 'GET', url: `${url}/api/v1/sites`, headers })) };
  } catch (error) {
    return { name, url, problem: `Its management API does not answer: ${messageOf(error)}` };
  }
}

function readList({ status, json, truncated }: HttpResponse): Pick<OtherCell, 'sites' | 'problem'> {
  if (status === 401 || status === 403)
    return { problem: 'It refuses the token in CELL_TOKENS. Create one there that may read all sites.' };
  if (truncated)
    return { problem: 'Its list of sites is longer than 4 MiB, which is not read. Leave it out of CELLS.' };
  const { items, restricted } = (json ?? {}) as { items?: unknown; restricted?: unknown };
  if (status !== 200 || !Array.isArray(items))
    return { problem: `It answered with status ${status} and no list of sites. Check its address in CELLS.` };
  if (restricted)
    return {
      problem: 'The token in CELL_TOKENS sees only some of its sites. Create one there that may read all sites.',
    };
  // Without the site that cannot be read, its host would look free.
  return items.every(isSite) ? { sites: items.map(siteElsewhere) } : { problem: UNREADABLE };
}

function isSite(item: unknown): item is SiteElsewhere {
  const { id, host, aliases, createdAt } = (item ?? {}) as Record<string, unknown>;
  return [id, host, createdAt].every((each) => typeof each === 'string') && isTexts(aliases);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function siteElsewhere(listed: SiteElsewhere): SiteElsewhere {
  const { id, host, aliases, inbound, paused, epoch, arrived, move, createdAt } = listed;
  const moving = move && moveElsewhere(move);
  return {
    ...{ id, host, aliases, inbound, createdAt },
    ...(paused && { paused }),
    ...(epoch !== undefined && { epoch }),
    ...(isArrival(arrived) && { arrived: { epoch: arrived.epoch, proof: arrived.proof } }),
    ...(moving && { move: moving }),
  };
}

function isArrival(value: unknown): value is StatedArrival {
  const { epoch, proof } = (value ?? {}) as Record<string, unknown>;
  return Number.isSafeInteger(epoch) && typeof proof === 'string';
}

function moveElsewhere({ state, to, from, events, total }: MoveDocument): MoveDocument {
  return {
    state,
    ...(to !== undefined && { to }),
    ...(from !== undefined && { from }),
    ...(events !== undefined && { events }),
    ...(total !== undefined && { total }),
  };
}

/** States of a site that the cell does not have. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set(['left', 'arriving', 'elsewhere']);

/** Whether the cell lists the site as one that it has. */
export function isThere({ sites = [] }: OtherCell, site: string): boolean {
  return sites.some(({ host, move }) => host === site && !ELSEWHERE.has(move?.state));
}

/** The cell that has a site with one of these hosts or aliases; one that the site has left only if no other has it. */
export function cellOf(
  cells: readonly OtherCell[],
  names: readonly string[],
): { cell: OtherCell; site: SiteElsewhere } | undefined {
  const found = cells.flatMap((cell) => {
    const site = cell.sites?.find(({ host, aliases }) => [host, ...aliases].some((each) => names.includes(each)));
    return site ? [{ cell, site }] : [];
  });
  return found.find(({ site: { move } }) => !ELSEWHERE.has(move?.state)) ?? found[0];
}

/**
 * A site is in one cell. Refuses hosts that another one has, and all hosts while one does not answer. Two cells that add the
 * same host at the same time do not notice each other.
 */
export async function refuseElsewhere(cells: readonly Cell[], names: readonly string[]): Promise<void> {
  const listed = await listOtherCells(cells);
  const found = cellOf(listed, names);
  if (found)
    throw new UserError(`${found.site.host} is a site of cell ${found.cell.name}. Change it there: ${found.cell.url}`);
  refuseSilent(listed, names);
}

/** Refuses all hosts while a cell does not answer. */
export function refuseSilent(listed: readonly OtherCell[], names: readonly string[]): void {
  const silent = listed.find(({ sites }) => !sites);
  if (silent)
    throw new UserError(
      `It is not known whether cell ${silent.name} has ${names.join(' or ')}. ${silent.problem} Try again then, or leave the cell out of CELLS.`,
    );
}

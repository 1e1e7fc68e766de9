import { proofOf } from '../sites/holding.js';
import type { OtherCell, SiteElsewhere } from '../sites/other-cells.js';
import type { SiteMove } from '../sites/site.js';
import { adviceFor, judgeClaims, withdrawn } from './held-elsewhere.js';

const HOST = 'shop.example';
const SECRET = 'ab'.repeat(32);
const own = (arrivedBy?: number, move?: SiteMove, epoch = arrivedBy ?? 0) => ({
  site: { host: HOST, epoch, arrivedBy, move },
  dedupSecret: SECRET,
});
const claimOf = (cell: string, epoch: number, secret = SECRET): OtherCell => ({
  name: cell,
  url: `https://${cell}.example`,
  sites: [
    {
      ...{ id: '1', host: HOST, aliases: [], inbound: true, createdAt: '2026-01-01T00:00:00.000Z' },
      arrived: { epoch, proof: proofOf(secret, { site: HOST, cell, epoch }) },
    } satisfies SiteElsewhere,
  ],
});
const silent = (name: string): OtherCell => ({ name, url: `https://${name}.example`, problem: 'It does not answer.' });
const empty = (name: string): OtherCell => ({ name, url: `https://${name}.example`, sites: [] });

describe('judgeClaims', () => {
  it('believes the cell that got the site by the latest move, if that is later than its arrival here', () => {
    expect(judgeClaims([own()], [claimOf('b', 1), claimOf('c', 2)]).held).toEqual([
      { site: HOST, cell: 'c', epoch: 2 },
    ]);
    expect(judgeClaims([own(2)], [claimOf('b', 1), silent('c')])).toEqual({
      ...{ held: [], disputed: [], unproved: [] },
    });
    expect(judgeClaims([own(1)], [claimOf('b', 1)]).held).toEqual([]);
  });

  it('names cells that have got the site by the same move, unless a later one is proved', () => {
    expect(judgeClaims([own(1)], [claimOf('c', 1)])).toMatchObject({
      held: [],
      disputed: [{ site: HOST, cell: 'c', epoch: 1 }],
    });
    expect(judgeClaims([own()], [claimOf('b', 1), claimOf('c', 1)])).toMatchObject({
      held: [{ site: HOST, cell: 'b', epoch: 1 }],
      disputed: [{ site: HOST, cell: 'c', epoch: 1 }],
    });
    expect(judgeClaims([own(1)], [claimOf('c', 1), claimOf('d', 2)]).disputed).toEqual([]);
    expect(judgeClaims([own(1)], [claimOf('c', 1, 'cd'.repeat(32))])).toEqual({ held: [], disputed: [], unproved: [] });
  });

  it('compares arrivals, and not how often a move was started here', () => {
    expect(judgeClaims([own(undefined, undefined, 5)], [claimOf('b', 1)]).held).toEqual([
      { site: HOST, cell: 'b', epoch: 1 },
    ]);
  });

  it('believes no cell that does not know the secret of the site, or repeats the proof of another one or for another move', () => {
    const claim = { site: HOST, cell: 'b', epoch: 1 };
    expect(judgeClaims([own()], [claimOf('b', 1, 'cd'.repeat(32))])).toEqual({
      ...{ held: [], disputed: [], unproved: [claim] },
    });
    expect(judgeClaims([own()], [{ ...claimOf('c', 1), name: 'b' }])).toEqual({
      ...{ held: [], disputed: [], unproved: [claim] },
    });
    const [listed] = claimOf('b', 1).sites as [SiteElsewhere];
    const proof = listed.arrived?.proof as string;
    const repeated = { ...claimOf('b', 1), sites: [{ ...listed, arrived: { epoch: 2, proof } }] };
    expect(judgeClaims([own()], [repeated]).held).toEqual([]);
    const short = { ...claimOf('b', 1), sites: [{ ...listed, arrived: { epoch: 1, proof: '' } }] };
    expect(judgeClaims([own()], [short]).held).toEqual([]);
  });
});

describe('withdrawn', () => {
  const found = [{ site: HOST, cell: 'b', epoch: 1 }];

  const listing = (cell: string, move?: SiteElsewhere['move']): OtherCell => {
    const [{ arrived: _, ...site }] = claimOf(cell, 1).sites as [SiteElsewhere];
    return { ...empty(cell), sites: [{ ...site, ...(move && { move }) }] };
  };

  it('ends a finding when its cell answers without the site, or does not have it any more', () => {
    expect(withdrawn(found, [], [empty('b')])).toEqual(found);
    expect(withdrawn(found, [], [listing('b', { state: 'arriving' })])).toEqual(found);
    expect(withdrawn(found, found, [claimOf('b', 1)])).toEqual([]);
  });

  it('keeps a finding while its cell does not answer', () => {
    expect(withdrawn(found, [], [silent('b')])).toEqual([]);
  });

  it('keeps a finding while a cell lists the site without a proof, and when its cell is not in CELLS any more', () => {
    expect(withdrawn(found, [], [listing('b')])).toEqual([]);
    expect(withdrawn(found, [], [empty('b'), listing('renamed')])).toEqual([]);
    expect(withdrawn(found, [], [empty('c')])).toEqual([]);
  });

  it('tells what to do about a finding', () => {
    const [holding] = found as [(typeof found)[0]];
    expect(adviceFor(holding, [claimOf('b', 1)], 'a')).toBe('Let its DNS name lead to cell b');
    expect(adviceFor(holding, [listing('b', { state: 'left', to: 'a' })], 'a')).toContain(
      `run "sites move ${HOST} --to a" there`,
    );
    expect(adviceFor(holding, [listing('b', { state: 'left', to: 'c' })], 'a')).toBe('Let its DNS name lead to cell b');
    expect(adviceFor(holding, [], 'a')).toContain(`"sites move ${HOST} --cancel"`);
  });
});

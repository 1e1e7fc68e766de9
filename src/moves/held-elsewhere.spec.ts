import { proofOf } from '../sites/holding.js';
import type { OtherCell, SiteElsewhere } from '../sites/other-cells.js';
import type { SiteMove } from '../sites/site.js';
import { judgeClaims, unconfirmed, withdrawn } from './held-elsewhere.js';

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
    expect(judgeClaims([own(2)], [claimOf('b', 1), silent('c')])).toEqual({ held: [], unproved: [] });
    expect(judgeClaims([own(1)], [claimOf('b', 1)]).held).toEqual([]);
  });

  it('compares arrivals, and not how often a move was started here', () => {
    expect(judgeClaims([own(undefined, undefined, 5)], [claimOf('b', 1)]).held).toEqual([
      { site: HOST, cell: 'b', epoch: 1 },
    ]);
  });

  it('believes no cell that does not know the secret of the site, or repeats the proof of another one or for another move', () => {
    const claim = { site: HOST, cell: 'b', epoch: 1 };
    expect(judgeClaims([own()], [claimOf('b', 1, 'cd'.repeat(32))])).toEqual({ held: [], unproved: [claim] });
    expect(judgeClaims([own()], [{ ...claimOf('c', 1), name: 'b' }])).toEqual({ held: [], unproved: [claim] });
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

  it('ends a finding when its cell answers without it, or is not asked any more', () => {
    expect(withdrawn(found, [], [empty('b')])).toEqual(found);
    expect(withdrawn(found, [], [silent('c')])).toEqual(found);
    expect(withdrawn(found, found, [claimOf('b', 1)])).toEqual([]);
  });

  it('lets it stand while its cell does not answer', () => {
    expect(withdrawn(found, [], [silent('b')])).toEqual([]);
  });
});

describe('unconfirmed', () => {
  it('names sites whose move has started to a cell that has not answered', () => {
    const leaving = own(undefined, { state: 'leaving', to: 'b' }, 1);
    expect(unconfirmed([leaving, own()], new Set(['b']))).toEqual([{ site: HOST, cell: 'b', epoch: 1 }]);
    expect(unconfirmed([leaving], new Set(['c']))).toEqual([]);
  });
});

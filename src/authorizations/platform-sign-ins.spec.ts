import { Sealer } from '../kernel/sealing.js';
import type { Postgres } from '../postgres/postgres.js';
import { type GrantedAccess, PlatformSignIns } from './platform-sign-ins.js';

const ID = '01980000-0000-7000-8000-000000000000';
const OWNER = { userId: 'ada', site: 'shop.example', connection: 'meta' } as const;
const GRANTED: GrantedAccess = { accessToken: 'token', settings: {} };

describe('the tokens of a sign-in', () => {
  let statuses: unknown[];

  /** A database that keeps one sign-in, and refuses to store a status. */
  function signInsRefusing(refused?: string) {
    statuses = [];
    let sealed: Buffer = Buffer.alloc(0);
    const query = async (text: string, values: unknown[]) => {
      if (text.includes(`status = 'granted', sealed`)) sealed = values[1] as Buffer;
      if (!text.includes('SET status = $2')) return { rows: [{ id: ID, sealed }] };
      if (values[1] === refused) throw new Error('Connection terminated');
      statuses.push(values[1]);
      return { rows: [] };
    };
    return new PlatformSignIns({ pool: { query } } as unknown as Postgres, new Sealer(Buffer.alloc(32)));
  }

  it('are not offered again if only the result could not be stored', async () => {
    const signIns = signInsRefusing('connected');
    await signIns.grant(ID, GRANTED);
    await expect(signIns.use(ID, OWNER, async () => 'done')).rejects.toThrow('Connection terminated');
    expect(statuses).toEqual([]);
  });

  it('are offered again if the connection was refused', async () => {
    const signIns = signInsRefusing();
    await signIns.grant(ID, GRANTED);
    await expect(signIns.use(ID, OWNER, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    expect(statuses).toEqual(['granted']);
    expect(await signIns.use(ID, OWNER, async () => 'done')).toBe('done');
    expect(statuses).toEqual(['granted', 'connected']);
  });
});

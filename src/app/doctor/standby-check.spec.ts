import { judgeReplication, type Replication } from './standby-check.js';

const ALONE: Replication = {
  named: 1,
  standbys: 0,
  hidden: 0,
  confirming: 0,
  lagBytes: 0,
  synchronousStandbyNames: '',
  synchronousCommit: 'on',
  walLevel: 'replica',
  maxWalSenders: 10,
};
const SYNCHRONOUS: Replication = { ...ALONE, named: 2, standbys: 1, confirming: 1, synchronousStandbyNames: 'node2' };

describe('the standby', () => {
  it.each<[string, Replication, string]>([
    ['none', ALONE, 'none'],
    ['none, and no level for one', { ...ALONE, walLevel: 'minimal', maxWalSenders: 0 }, 'none'],
    [
      'an asynchronous one',
      { ...ALONE, standbys: 1, lagBytes: 2_048 },
      'asynchronous: a failover loses what has not been replicated; the slowest of 1 is 2 kB behind',
    ],
    ['a synchronous one', SYNCHRONOUS, 'synchronous: a commit waits for 1; the slowest of 1 is 0 kB behind'],
    [
      'one that confirms before it has written',
      { ...SYNCHRONOUS, synchronousCommit: 'remote_write' },
      'synchronous: a commit waits for 1, which may not have it on disk yet; the slowest of 1 is 0 kB behind',
    ],
    [
      'one that the login may not see',
      { ...SYNCHRONOUS, hidden: 1, confirming: 0 },
      'not visible to the login of DATABASE_URL: grant it the role pg_read_all_stats to have it checked',
    ],
  ])('is fine: %s', (_, state, detail) => {
    expect(judgeReplication(state)).toEqual({ ok: true, detail });
  });

  it.each<[string, Partial<Replication>, RegExp]>([
    ['commits that do not wait for it', { synchronousCommit: 'local' }, /synchronous_commit = local/],
    ['a name to which none belongs', { standbys: 0, confirming: 0 }, /appends wait for one/],
    ['a level at which none can replicate', { walLevel: 'minimal' }, /wal_level = minimal/],
    ['no connections for it', { maxWalSenders: 0 }, /max_wal_senders = 0/],
    [
      'a level of commits without a name',
      { synchronousStandbyNames: '', synchronousCommit: 'remote_apply' },
      /synchronous_standby_names is empty/,
    ],
    ['a second server that does not replicate', { synchronousStandbyNames: '', standbys: 0 }, /names 2 servers/],
  ])('is useless with %s', (_, change, detail) => {
    const finding = judgeReplication({ ...SYNCHRONOUS, ...change });
    expect(finding).toEqual({ ok: false, detail: expect.stringMatching(detail), fix: expect.any(String) });
  });
});

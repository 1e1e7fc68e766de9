import { withActorNames, withUserNames } from './actor-names.js';

const USERS = [
  { id: '1', name: 'Ada' },
  { id: '2', name: 'Grace' },
];
const TOKENS = [{ id: '3', name: 'CI' }];

/** Lists that count how often they are read. */
function lists() {
  const reads: string[] = [];
  const listOf = (name: string, rows: readonly object[]) => ({
    list: async () => {
      reads.push(name);
      return rows as never;
    },
  });
  return { reads, users: listOf('users', USERS), tokens: listOf('tokens', TOKENS) };
}

describe('names of those who caused events', () => {
  it('are those of users and tokens, and absent for those that were removed and for others', async () => {
    const { users, tokens } = lists();
    const actors = ['user:1', 'token:3', 'user:9', 'cli:root'].map((actor) => ({ actor }));
    expect(await withActorNames(users, tokens, actors)).toEqual([
      { actor: 'user:1', actorName: 'Ada' },
      { actor: 'token:3', actorName: 'CI' },
      { actor: 'user:9' },
      { actor: 'cli:root' },
    ]);
  });

  it('are read only where they are needed, and each list once', async () => {
    const { reads, users, tokens } = lists();
    await withActorNames(users, tokens, [{ actor: 'cli' }, { actor: 'system' }]);
    expect(reads).toEqual([]);
    await withUserNames(users, tokens, [
      { actor: 'user:1', stream: 'user-2' },
      { actor: 'token:3', stream: 'user-1' },
    ]);
    expect(reads).toEqual(['users', 'tokens']);
  });

  it('include the name of the user that an event is about, even if the command line caused it', async () => {
    const { users, tokens } = lists();
    const events = [
      { actor: 'cli:root', stream: 'user-2' },
      { actor: 'user:2', stream: 'user-9' },
    ];
    expect(await withUserNames(users, tokens, events)).toEqual([
      { ...events[0], subjectName: 'Grace' },
      { ...events[1], actorName: 'Grace' },
    ]);
  });
});

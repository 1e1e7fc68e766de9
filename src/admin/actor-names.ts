import type { TokensService } from '../users/tokens.service.js';
import type { UsersService } from '../users/users.service.js';

/** Adds the names of the users and tokens that caused events. Events themselves have no names, only ids. */
export async function withActorNames<Item extends { readonly actor: string }>(
  users: Pick<UsersService, 'list'>,
  tokens: Pick<TokensService, 'list'>,
  items: readonly Item[],
): Promise<(Item & { actorName?: string })[]> {
  const names = new Map<string, string>();
  if (items.some(({ actor }) => actor.startsWith('user:')))
    for (const { id, name } of await users.list()) names.set(`user:${id}`, name);
  if (items.some(({ actor }) => actor.startsWith('token:')))
    for (const { id, name } of await tokens.list()) names.set(`token:${id}`, name);
  return items.map((item) => {
    const actorName = names.get(item.actor);
    return actorName === undefined ? item : { ...item, actorName };
  });
}

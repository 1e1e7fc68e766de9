import { z } from 'zod';
import type { TokensService } from '../users/tokens.service.js';
import type { UsersService } from '../users/users.service.js';

type Users = Pick<UsersService, 'list'>;
type Tokens = Pick<TokensService, 'list'>;

/** Name of the user or token that caused an event. */
export const actorName = z
  .string()
  .optional()
  .meta({ description: 'Name of the user or token, unless it was removed.' });

export const subjectName = z
  .string()
  .optional()
  .meta({ description: 'Name of the user that the event is about, unless the user was removed.' });

/** Adds the names of the users and tokens that caused events. Events themselves have no names, only ids. */
export async function withActorNames<Item extends { readonly actor: string }>(
  users: Users,
  tokens: Tokens,
  items: readonly Item[],
): Promise<(Item & { actorName: string | undefined })[]> {
  const names = await namesOf(
    users,
    tokens,
    items.map(({ actor }) => actor),
  );
  return items.map((item) => ({ ...item, actorName: names.get(item.actor) }));
}

/** The same for events about users, with the names of these users. */
export async function withUserNames<Item extends { readonly actor: string; readonly stream: string }>(
  users: Users,
  tokens: Tokens,
  items: readonly Item[],
): Promise<(Item & { actorName: string | undefined; subjectName: string | undefined })[]> {
  const names = await namesOf(
    users,
    tokens,
    items.flatMap(({ actor, stream }) => [actor, userOf(stream)]),
  );
  return items.map((item) => ({
    ...item,
    actorName: names.get(item.actor),
    subjectName: names.get(userOf(item.stream)),
  }));
}

/** The user that a stream is about, in the form of an actor. */
function userOf(stream: string): string {
  return stream.replace(/^user-/, 'user:');
}

/** Reads only the lists that are needed, once each. */
async function namesOf(users: Users, tokens: Tokens, actors: readonly string[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  if (actors.some((actor) => actor.startsWith('user:')))
    for (const { id, name } of await users.list()) names.set(`user:${id}`, name);
  if (actors.some((actor) => actor.startsWith('token:')))
    for (const { id, name } of await tokens.list()) names.set(`token:${id}`, name);
  return names;
}

import { type Command, Option } from 'commander';
import { UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import { ROLES, type Role } from '../users/access.js';
import type { UserRow } from '../users/user.row.js';
import { adminAddress, signInLink, userDocument } from '../users/user-document.js';
import { CLI_ACTOR } from './cli-actor.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { collect, commandGroup, subcommand } from './subcommand.js';

interface AddOptions {
  readonly role: Role;
  readonly name?: string;
  readonly site?: string[];
  readonly json?: true;
}

export function addUsers(program: Command, session: Session): void {
  const { output } = session;
  const group = commandGroup(program, 'users', 'Manage the users of the management API');

  subcommand(
    group,
    'add <email>',
    'Add a user and print a link to choose a password',
    'users add ada@shop.example --role admin',
  )
    .addOption(new Option('--role <role>', 'what the user may do').choices(ROLES).makeOptionMandatory())
    .option('--name <name>', 'name to show; the email address by default')
    .option('--site <host>', 'site that the user may see, instead of all of them; may be repeated', collect)
    .action(async (email: string, { role, name, site, json }: AddOptions) => {
      const { sites, settings } = await session.open();
      const hosts = site && (await Promise.all(site.map(async (host) => (await sites.get(host)).host)));
      const users = await openUsers();
      await showLink(settings, await users.add({ email, name, role, sites: hosts ?? null }, CLI_ACTOR), json);
    });

  subcommand(group, 'list', 'List users', 'users list').action(async ({ json }: { json?: true }) => {
    const list = (await (await openUsers()).list()).map(userDocument);
    if (list.length === 0 && !json)
      return output.note('There is no user yet. Add one with "users add <email> --role admin".');
    await output.showTable(json, list, {
      EMAIL: ({ email }) => email,
      NAME: ({ name }) => name,
      ROLE: ({ role }) => role,
      SITES: ({ sites }) => sites ?? 'all',
      DISABLED: ({ disabled }) => disabled,
      ID: ({ id }) => id,
    });
  });

  subcommand(
    group,
    'reset <email>',
    'End the sessions and the password of a user, and print a link to choose a new one',
    'users reset ada@shop.example',
  )
    .option('--revoke-tokens', 'also revoke the API tokens of the user, after a theft for example')
    .action(async (email: string, { json, revokeTokens }: { json?: true; revokeTokens?: true }) => {
      const { settings } = await session.open();
      const validTokens = await showLink(settings, await find(email), json, { revokeTokens });
      if (validTokens > 0 && !json)
        output.note(
          `${validTokens === 1 ? 'One API token' : `${validTokens} API tokens`} of the user can still be used. ` +
            `Revoke single ones in the dashboard, or all with "users reset ${email} --revoke-tokens".`,
        );
    });

  change('disable', 'Sign a user out everywhere and refuse sign-in and tokens', true);
  change('enable', 'Let a disabled user sign in again', false);

  function change(name: string, description: string, disabled: boolean): void {
    subcommand(group, `${name} <email>`, description, `users ${name} ada@shop.example`).action(
      async (email: string, { json }: { json?: true }) => {
        const { id } = await find(email);
        const user = userDocument((await (await openUsers()).change(id, { disabled }, CLI_ACTOR)) as UserRow);
        await output.show(json, user, () => card(shown(user)));
      },
    );
  }

  async function find(email: string): Promise<UserRow> {
    const user = await (await openUsers()).findByEmail(email);
    if (!user) throw new UserError('There is no user with this email address. "users list" shows all users.');
    return user;
  }

  /** Imported here because loading Nest and TypeORM takes longer than most commands run. */
  async function openUsers() {
    const { postgres } = await session.open();
    const [{ UsersService }, { PasswordHasher }] = await Promise.all([
      import('../users/users.service.js'),
      import('../users/password.js'),
    ]);
    return new UsersService(postgres, new PasswordHasher());
  }

  /** Returns how many API tokens of the user can be used. */
  async function showLink(
    settings: Settings,
    row: UserRow,
    json: true | undefined,
    { revokeTokens = false }: { revokeTokens?: boolean | undefined } = {},
  ): Promise<number> {
    const users = await openUsers();
    const user = userDocument(row);
    const { secret, validTokens } = await users.reset(row.id, CLI_ACTOR, { revokeTokens });
    const link = signInLink(adminAddress(settings), secret);
    await output.show(json, { user, link, validTokens }, () => card({ ...shown(user), link, validTokens }));
    if (!json) output.note('Give the link to the user over a safe channel: it works once, for 24 hours.');
    return validTokens;
  }
}

function shown(user: ReturnType<typeof userDocument>) {
  return { ...user, sites: user.sites ?? 'all' };
}

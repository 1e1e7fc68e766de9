import { commandHandledBy } from '../kernel/command.js';
import * as connectionCommands from './connections/connection.commands.js';
import * as keyCommands from './keys/key.commands.js';
import * as moveCommands from './move.commands.js';
import * as siteCommands from './site.commands.js';
import { SITE_COMMAND_HANDLERS } from './site-command-handlers.js';
import * as sourceCommands from './sources/source.commands.js';
import * as webhookCommands from './webhook.commands.js';

const { SiteCommand, ...commands } = {
  ...siteCommands,
  ...moveCommands,
  ...keyCommands,
  ...connectionCommands,
  ...sourceCommands,
  ...webhookCommands,
};

it('every site command has exactly one handler', () => {
  const handled = SITE_COMMAND_HANDLERS.map(commandHandledBy);
  expect(new Set(handled)).toEqual(new Set(Object.values(commands)));
  expect(handled).toHaveLength(Object.keys(commands).length);
  for (const command of handled) expect(command.prototype).toBeInstanceOf(SiteCommand);
});

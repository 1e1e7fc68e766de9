import { type Command, InvalidArgumentError } from 'commander';
import { EVENT_SCHEMAS } from '../../events/index.js';
import { nearest } from '../../kernel/nearest.js';
import { collect } from '../subcommand.js';
import { FROM_HELP, readBound, TO_HELP } from './bound-argument.js';

/** The options that select events. */
export function withFilters(command: Command): Command {
  return command
    .option('--site <host>', 'only events of this site (host or alias)')
    .option('--type <type>', 'only events of this type; may be repeated', readTypes)
    .option('--from <when>', FROM_HELP, readBound)
    .option('--to <when>', TO_HELP, readBound)
    .option('--order <orderId>', 'only events of conversions with this order id');
}

/** Collects event types. One that does not exist would select nothing, without a word. */
export function readTypes(type: string, earlier: string[] = []): string[] {
  if (type in EVENT_SCHEMAS) return collect(type, earlier);
  const meant = nearest(type, Object.keys(EVENT_SCHEMAS));
  throw new InvalidArgumentError(
    meant === undefined ? 'There is no such event type, and none with a similar name.' : `Did you mean ${meant}?`,
  );
}

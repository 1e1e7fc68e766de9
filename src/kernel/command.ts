import type { Command as CqrsCommand, ICommandHandler } from '@nestjs/cqrs';

/** Who executes a command, as stored in the `actor` field of the resulting events. Before version 0.3, `cli` had no user. */
export type Actor = 'cli' | `cli:${string}` | 'system' | `user:${string}` | `token:${string}`;

/**
 * A request to change state; its handler returns `Result`. It has the type of the `Command` of @nestjs/cqrs, so
 * `CommandBus.execute` infers the result. It does not import @nestjs/cqrs, because loading Nest would double the start
 * time of the command line. (The cast adds the property that carries the result type; it has no value.)
 */
export type Command<Result> = CqrsCommand<Result>;
export const Command = class {} as unknown as abstract new <Result>() => Command<Result>;

/** Nest's `CommandBus` inside the service; a `CommandDispatcher` elsewhere. */
export interface CommandExecutor {
  execute<Result>(command: Command<Result>): Promise<Result>;
}

type CommandClass = abstract new (...values: never[]) => Command<unknown>;
// biome-ignore lint/complexity/noBannedTypes: `constructor` of an instance has this type.
type HandlerClass = Function;

const commandClasses = new WeakMap<HandlerClass, CommandClass>();

/** Declares which command a class handles, like the decorator of @nestjs/cqrs but without loading Nest. */
export function CommandHandler(command: CommandClass) {
  return (handler: HandlerClass): void => {
    commandClasses.set(handler, command);
  };
}

export function commandHandledBy(handler: HandlerClass): CommandClass {
  const command = commandClasses.get(handler);
  if (!command) throw new Error(`${handler.name} lacks the decorator @CommandHandler`);
  return command;
}

/** Executes commands with the service's handlers where Nest does not run: on the command line and in tests. */
export class CommandDispatcher implements CommandExecutor {
  private readonly handlers: ReadonlyMap<HandlerClass, ICommandHandler>;

  constructor(handlers: readonly ICommandHandler[]) {
    this.handlers = new Map(handlers.map((handler) => [commandHandledBy(handler.constructor), handler]));
  }

  async execute<Result>(command: Command<Result>): Promise<Result> {
    const handler = this.handlers.get(command.constructor);
    if (!handler) throw new Error(`${command.constructor.name} has no handler`);
    return handler.execute(command);
  }
}

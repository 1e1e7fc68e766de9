import type { FactoryProvider, InjectionToken } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { commandHandledBy } from './command.js';

type HandlerClass<Dependencies extends unknown[]> = new (...dependencies: Dependencies) => ICommandHandler;

/**
 * Registers a handler with Nest's `CommandBus`. `inject` names the constructor's parameters in order: the handler is
 * loaded without Nest, so there is no decorator metadata to read them from.
 */
export function provideCommandHandler<Dependencies extends unknown[]>(
  Handler: HandlerClass<Dependencies>,
  inject: { readonly [Index in keyof Dependencies]: InjectionToken<Dependencies[Index]> },
): FactoryProvider<ICommandHandler> {
  CommandHandler(commandHandledBy(Handler))(Handler);
  return {
    provide: Handler,
    useFactory: (...dependencies: Dependencies) => new Handler(...dependencies),
    inject: [...inject],
  };
}

/** The same for handlers that exist. By a factory, because the bus does not find the class of a value. */
export function provideCommandHandlers(handlers: readonly ICommandHandler[]): FactoryProvider<ICommandHandler>[] {
  return handlers.map((handler) => {
    CommandHandler(commandHandledBy(handler.constructor))(handler.constructor);
    return { provide: handler.constructor, useFactory: () => handler, inject: [] };
  });
}

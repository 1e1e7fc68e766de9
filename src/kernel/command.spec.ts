import { Command, CommandDispatcher, CommandHandler } from './command.js';

class Double extends Command<number> {
  constructor(readonly value: number) {
    super();
  }
}

class Unhandled extends Command<void> {}

@CommandHandler(Double)
class DoubleHandler {
  async execute({ value }: Double): Promise<number> {
    return 2 * value;
  }
}

describe('CommandDispatcher', () => {
  const dispatcher = new CommandDispatcher([new DoubleHandler()]);

  it('returns the result of the handler', async () => {
    const result: number = await dispatcher.execute(new Double(21));
    expect(result).toBe(42);
  });

  it('rejects a command without a handler', async () => {
    await expect(dispatcher.execute(new Unhandled())).rejects.toThrow('Unhandled has no handler');
  });

  it('rejects a handler without the decorator', () => {
    class Undecorated {
      async execute(): Promise<void> {}
    }
    expect(() => new CommandDispatcher([new Undecorated()])).toThrow('Undecorated lacks the decorator @CommandHandler');
  });
});

import type { ClientBase } from 'pg';
import type { EventsOf, StoredEvent } from '../log/event.js';
import { type CountOptions, countAmong, type EventCount } from '../log/event-reader.js';
import type { PageFilter } from '../log/page-source.js';
import { Page } from '../log/projection.js';

/** Events received from Kafka, as a page that a projection can fold. */
export class ConsumedPage extends Page {
  constructor(
    tx: ClientBase,
    private readonly consumed: readonly StoredEvent[],
  ) {
    super(tx, (consumed[0]?.position ?? 1) - 1, consumed.at(-1)?.position ?? 0);
  }

  override async events<Type extends string = string>(filter: PageFilter<Type> = {}): Promise<EventsOf<Type>[]> {
    const { categories, unless } = filter;
    const types: readonly string[] | undefined = filter.types;
    return this.consumed.filter(({ stream, type, data }) => {
      if (categories && !categories.includes(stream.slice(0, stream.indexOf('-')))) return false;
      if (types && !types.includes(type)) return false;
      return unless === undefined || String((data as Record<string, unknown>)[unless.field]) !== unless.is;
    }) as EventsOf<Type>[];
  }

  override async count(types: CountOptions['types'], by: CountOptions['by']): Promise<EventCount[]> {
    return countAmong(await this.events({ types }), by);
  }

  override newestByActor(): never {
    throw new Error('The actor is not published to Kafka: a projection that needs it must be fed from the log');
  }
}

import type { ClientBase } from 'pg';
import type { StoredEvent } from '../log/event.js';
import { Page } from '../log/projections/projection.js';
import { NewestByActor, type PageFilter, type PageRow, passes, type Reducer } from '../log/projections/reducer.js';

/** Events received from Kafka, as a page that a projection can fold. */
export class ConsumedPage extends Page {
  constructor(
    tx: ClientBase,
    private readonly consumed: readonly StoredEvent[],
  ) {
    super(tx, (consumed[0]?.position ?? 1) - 1, consumed.at(-1)?.position ?? 0);
  }

  override async each(filter: PageFilter, onRow: (row: PageRow) => void): Promise<void> {
    for (const event of this.consumed) {
      const row = rowOf(event);
      if (passes(filter, row)) onRow(row);
    }
  }

  override async reduce<State>(reducer: Reducer<State>): Promise<State> {
    if (reducer instanceof NewestByActor)
      throw new Error('The actor is not published to Kafka: a projection that needs it must be fed from the log');
    const state = reducer.start();
    await this.each(reducer, (row) => reducer.add(state, row));
    return state;
  }
}

function rowOf(event: StoredEvent): PageRow {
  const { position, type, site, actor, time, stream } = event;
  const end = stream.indexOf('-');
  return {
    ...{ position, type, site, actor, time, subject: undefined },
    category: stream.slice(0, end),
    streamId: stream.slice(end + 1),
    timeMs: Date.parse(time),
    data: () => event.data,
    personal: () => null,
    event: () => event,
  };
}

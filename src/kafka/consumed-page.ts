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
      const row = new ConsumedRow(event);
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

class ConsumedRow implements PageRow {
  readonly category: string;
  readonly streamId: string;

  constructor(private readonly consumed: StoredEvent) {
    const end = consumed.stream.indexOf('-');
    this.category = consumed.stream.slice(0, end);
    this.streamId = consumed.stream.slice(end + 1);
  }

  get position(): number {
    return this.consumed.position;
  }

  get type(): string {
    return this.consumed.type;
  }

  get site(): string {
    return this.consumed.site;
  }

  get actor(): string {
    return this.consumed.actor;
  }

  get time(): string {
    return this.consumed.time;
  }

  get timeMs(): number {
    return Date.parse(this.consumed.time);
  }

  get subject(): undefined {
    return undefined;
  }

  data(): StoredEvent['data'] {
    return this.consumed.data;
  }

  personal(): null {
    return null;
  }

  event(): StoredEvent {
    return this.consumed;
  }
}

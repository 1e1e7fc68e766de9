import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';

interface WaitingAppend {
  readonly request: AppendRequest;
  readonly done: (outcome: AppendOutcome | Error) => void;
}

/** Appends to the streams of conversions that settle together, such as those of one call to a platform, with one promise. */
export class OutcomeWriter {
  private waiting: WaitingAppend[] = [];

  constructor(readonly log: Pick<EventLog, 'appendAll' | 'readStream'>) {}

  append(request: AppendRequest, done: WaitingAppend['done']): void {
    this.waiting.push({ request, done });
    // A microtask: what settles in the same turn is collected, and nothing waits for longer.
    if (this.waiting.length === 1) queueMicrotask(() => void this.flush());
  }

  private async flush(): Promise<void> {
    const waiting = this.waiting;
    this.waiting = [];
    const outcomes = await this.log.appendAll(waiting.map(({ request }) => request));
    for (const [at, { done }] of waiting.entries()) done(outcomes[at] as AppendOutcome | Error);
  }
}

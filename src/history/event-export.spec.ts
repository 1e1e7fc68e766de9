import type { ClientBase } from 'pg';
import type { EventLog } from '../log/event-log.js';
import { exportEvents } from './event-export.js';
import { EventFilter } from './event-filter.js';
import { FORMATS } from './export-formats.js';

const EVENTS = 100;
const ROW_BYTES = 10_000;

/** Answers a COPY as the server does, with events of 10 kB at the positions 1 to 100. */
class CopyClient {
  readonly limits: number[] = [];

  query(copy: { text: string; handleCopyData(message: { chunk: Buffer }): void; handleReadyForQuery(): void }): void {
    const [, after = '0'] = /position > (\d+)/.exec(copy.text) ?? [];
    const [, limit = '0'] = /LIMIT (\d+)/.exec(copy.text) ?? [];
    this.limits.push(Number(limit));
    const until = Math.min(EVENTS, Number(after) + Number(limit));
    for (let position = Number(after) + 1; position <= until; position += 1)
      copy.handleCopyData({ chunk: Buffer.from(rowAt(position)) });
    copy.handleReadyForQuery();
  }
}

function rowAt(position: number): string {
  const data = JSON.stringify({ text: 'x'.repeat(ROW_BYTES) });
  return `${[position, `id-${position}`, 'test', 's', 1, 'test.large.v1', 'shop.example', 0, 'system', data, 'f', '\\N', '\\N', '\\N'].join('\t')}\n`;
}

describe('exportEvents', () => {
  it('bounds a page by its bytes, and asks for few events where they are large', async () => {
    const client = new CopyClient();
    const log = { head: async () => EVENTS } as unknown as EventLog;
    const filter = await EventFilter.open({ log } as never, {});
    const pages: number[] = [];
    let text = '';
    const exported = await exportEvents({
      client: client as unknown as ClientBase,
      filter,
      format: FORMATS.ndjson(),
      pageLimits: { events: 64, bytes: 4 * ROW_BYTES },
      resumeFrom: undefined,
      write: async (bytes) => {
        pages.push(bytes.length);
        text += Buffer.from(bytes).toString();
      },
      progress: () => {},
    });
    expect(exported).toBe(EVENTS);
    const positions = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).position);
    expect(positions).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
    // One event more than fits, because a page ends with the event that reaches the limit.
    expect(Math.max(...pages)).toBeLessThan(6 * ROW_BYTES);
    expect(client.limits[0]).toBe(64);
    expect(Math.max(...client.limits.slice(1))).toBeLessThanOrEqual(10);
  });
});

import { EventEmitter } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { JobRunner } from '../../jobs/job-runner.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { Principal } from '../../users/access.js';
import type { Dependencies } from '../dependencies.js';
import { JobsController } from './jobs.controller.js';

const ID = '01980000-0000-7000-8000-000000000000';
const CALLER = { sites: 'all' } as unknown as Principal;

describe('the file of an export', () => {
  let read: number[];

  /** The bytes of the answer. */
  async function request(method: string) {
    read = [];
    const store = {
      find: async () => ({ request: { kind: 'export', format: 'csv' }, fileUntil: new Date(), bytes: 4_000 }),
      chunkAt: async (_: string, start: number) => {
        read.push(start);
        return { start, bytes: Buffer.alloc(1_000) };
      },
    };
    const reply = {
      request: { method },
      raw: new EventEmitter(),
      header: () => reply,
      status: () => reply,
    } as unknown as FastifyReply;
    const controller = new JobsController({} as Dependencies, store as unknown as JobStore, {} as JobRunner);
    const file = await controller.file(ID, undefined, CALLER, reply);
    let bytes = 0;
    for await (const part of file.getStream()) bytes += (part as Buffer).length;
    return { bytes, length: file.getHeaders().length };
  }

  it('is not read for HEAD, whose answer has its length', async () => {
    expect(await request('HEAD')).toEqual({ bytes: 0, length: 4_000 });
    expect(read).toEqual([]);
    expect(await request('GET')).toEqual({ bytes: 4_000, length: 4_000 });
    expect(read).toEqual([0, 1_000, 2_000, 3_000]);
  });
});

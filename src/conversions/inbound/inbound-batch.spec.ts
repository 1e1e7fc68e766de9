import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { CommandBus } from '@nestjs/cqrs';
import type { Logger } from '../../kernel/logger.js';
import type { Settings } from '../../kernel/settings/settings.js';
import type { Rejections } from '../rejections.js';
import type { Caller } from './inbound-answers.js';
import { InboundBatch } from './inbound-batch.js';
import type { InboundMetrics } from './inbound-metrics.js';

const CALLER = { loadedSite: { site: { host: 'shop.example', settings: {} } }, key: { id: 'k1' } } as Caller;
const SETTINGS = { maxBatchBytes: 1_000, maxBodyBytes: 1_000 } as Settings;

function setUp() {
  const commands = { execute: async () => [] } as unknown as CommandBus;
  const metrics = { count: () => {} } as unknown as InboundMetrics;
  const rejections = {} as Rejections;
  return new InboundBatch(commands, metrics, rejections, {} as Logger, { nowMs: () => 0 }, SETTINGS);
}

function request(body?: string): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.headers['content-type'] = 'application/json';
  if (body !== undefined) {
    message.push(body);
    message.push(null);
    message.complete = true;
  }
  return message;
}

const callerNow = async () => CALLER;
const closed = (message: IncomingMessage) =>
  new Promise((resolve) => {
    message.once('close', resolve);
    message.destroy();
  });

describe('slots of batches', () => {
  it.each([
    ['before its body arrived', undefined],
    ['after its body arrived', '[]'],
  ])('a sender that disconnected %s, while its key was checked, takes none', async (_, body) => {
    const batch = setUp();
    for (let count = 0; count < 16; count += 1) {
      const message = request(body);
      await closed(message);
      void batch.answer(message, CALLER, callerNow);
    }
    expect((await batch.answer(request('[]'), CALLER, callerNow)).status).toBe(200);
  });

  it.each([
    ['is left', undefined],
    ['is complete and not read yet', '[]'],
  ])('a sender that disconnects while its body %s gives its slot back', async (_, body) => {
    const batch = setUp();
    for (let count = 0; count < 16; count += 1) {
      const message = request(body);
      void batch.answer(message, CALLER, callerNow);
      await closed(message);
    }
    expect((await batch.answer(request('[]'), CALLER, callerNow)).status).toBe(200);
  });
});

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { TargetCell } from './target-cell.js';

describe('TargetCell', () => {
  it('states the time of each try when it begins', async () => {
    const times: unknown[] = [];
    const server = createServer(async (request, response) => {
      times.push(((await json(request)) as { timeMs: unknown }).timeMs);
      response.writeHead(times.length < 3 ? 503 : 200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const options = { stop: new AbortController().signal, onWait: () => {} };
    const target = new TargetCell({ name: 'b', url, token: 'token' }, 'shop.example', options);
    let nowMs = 0;
    const beginning = { site: 'shop.example', epoch: 1, from: 'a', aliases: [], head: 1, schema: 1 };
    await target.begin({ ...beginning, dedupSecret: Buffer.from('secret') }, () => ++nowMs);
    expect(times).toEqual([1, 2, 3]);
    await target.close();
    server.close();
  });
});

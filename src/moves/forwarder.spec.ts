import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { makeCertificate } from '../../test/support/certificate.js';
import { type ForwardedRequest, Forwarder, type ForwarderOptions, type ForwardingFailure } from './forwarder.js';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
});

function forwarder(options: Partial<ForwarderOptions> = {}): Forwarder {
  const created = new Forwarder({ timeoutMs: 30_000, ...options });
  opened.push(created);
  return created;
}

async function listen(server: Server | TcpServer, scheme = 'http'): Promise<URL> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close: () => {
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
    },
  });
  return new URL(`${scheme}://localhost:${(server.address() as AddressInfo).port}`);
}
const serve = (listener: RequestListener) => listen(createServer(listener));

const request = (body?: string, signal = new AbortController().signal) => ({
  ...{ method: 'POST', path: '/__cc/inbound', headers: { host: 'shop.example' }, signal },
  body: body === undefined ? undefined : (Readable.from([Buffer.from(body)]) as IncomingMessage),
});

/** A place is given back soon after the outcome is known. */
async function sendWhenFree(by: Forwarder, address: URL, sent: () => ForwardedRequest): Promise<IncomingMessage> {
  for (;;) {
    try {
      return await by.send(address, sent());
    } catch (error) {
      if ((error as ForwardingFailure).outcome !== 'busy') throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('Forwarder', () => {
  it('streams the body there and the answer back, with the host of the site', async () => {
    const address = await serve(async (received, response) =>
      response.writeHead(418, { 'x-host': received.headers.host }).end(`got ${await text(received)}`),
    );
    const answer = await forwarder().send(address, request('body'));
    expect([answer.statusCode, answer.headers['x-host'], await text(answer)]).toEqual([
      418,
      'shop.example',
      'got body',
    ]);
  });

  it('sends nothing to a cell with an untrusted certificate', async () => {
    let requests = 0;
    const server = createHttpsServer(makeCertificate(), (_, response) => {
      requests += 1;
      response.end();
    });
    const address = await listen(server as unknown as Server, 'https');
    await expect(forwarder().send(address, request('x'))).rejects.toMatchObject({ outcome: 'unreachable' });
    expect(requests).toBe(0);
  });

  it('fails if nothing listens there, or the connection ends without an answer', async () => {
    const closed = createTcpServer();
    const address = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    await expect(forwarder().send(address, request('x'))).rejects.toMatchObject({ outcome: 'unreachable' });
    const hangsUp = await serve((received) => received.socket.destroy());
    await expect(forwarder().send(hangsUp, request('x'))).rejects.toMatchObject({ outcome: 'unreachable' });
  });

  it('gives a cell that does not answer so many requests at a time, and no more', async () => {
    const answers: (() => void)[] = [];
    let twoArrived = () => {};
    const arrived = new Promise<void>((resolve) => {
      twoArrived = resolve;
    });
    const slow = await serve((_, response) => {
      answers.push(() => response.end('late'));
      if (answers.length === 2) twoArrived();
    });
    const fast = await serve((_, response) => response.end('fast'));
    const limited = forwarder({ requestsMax: 2 });
    const waiting = [limited.send(slow, request('1')), limited.send(slow, request('2'))];
    await expect(limited.send(slow, request('3'))).rejects.toMatchObject({ outcome: 'busy' });
    expect(await text(await limited.send(fast, request('4')))).toBe('fast');
    await arrived;
    for (const answer of answers) answer();
    for (const each of waiting) expect(await text(await each)).toBe('late');
    const next = sendWhenFree(limited, slow, () => request('5'));
    while (answers.length < 3) await new Promise((resolve) => setImmediate(resolve));
    answers[2]?.();
    expect(await text(await next)).toBe('late');
  });

  it('gives up after the time limit, and when the client has disconnected; both give their places back', async () => {
    let arrived = () => {};
    const silent = await serve(() => arrived());
    const arrival = () =>
      new Promise<void>((resolve) => {
        arrived = resolve;
      });
    const limited = forwarder({ requestsMax: 1, timeoutMs: 50 });
    for (let time = 0; time < 3; time += 1)
      await expect(sendWhenFree(limited, silent, () => request('x'))).rejects.toMatchObject({ outcome: 'timeout' });
    const patient = forwarder({ requestsMax: 1 });
    for (let time = 0; time < 3; time += 1) {
      const client = new AbortController();
      const sent = sendWhenFree(patient, silent, () => request('x', client.signal));
      await arrival();
      client.abort();
      await expect(sent).rejects.toMatchObject({ outcome: 'unreachable' });
    }
  });

  it('passes on a refusal that comes before the body is complete, and does not wait for the rest', async () => {
    const address = await serve((_, response) => response.writeHead(413).end('too large'));
    const limited = forwarder({ requestsMax: 1 });
    for (let time = 0; time < 3; time += 1) {
      const endless = new Readable({ read() {} }) as IncomingMessage;
      endless.push('beginning');
      const answer = await sendWhenFree(limited, address, () => ({ ...request(), body: endless }));
      expect([answer.statusCode, await text(answer)]).toEqual([413, 'too large']);
    }
  });
});

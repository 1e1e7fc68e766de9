import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request to the receiver of a site's totals. */
export interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** The status of the response; undefined while there is none. */
  status?: number;
}

export type Answer = (call: Call, response: ServerResponse) => void;

/** A customer's receiver on loopback. Each site uses its own path. */
export interface WebhookReceiver {
  readonly url: string;
  readonly calls: Call[];
  /** Responds to the requests from now on; with 200 by default. */
  answer: Answer;
  callsTo(path: string): Call[];
  stop(): Promise<void>;
}

export function answerWith(status: number, headers: Record<string, string> = {}): Answer {
  return (call, response) => {
    call.status = status;
    response.writeHead(status, headers).end();
  };
}

export async function startReceiver(): Promise<WebhookReceiver> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const call: Call = { path: request.url ?? '', headers: request.headers, body, atMs: Date.now() };
    receiver.calls.push(call);
    receiver.answer(call, response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: answerWith(200),
    callsTo: (path) => receiver.calls.filter((call) => call.path === path),
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

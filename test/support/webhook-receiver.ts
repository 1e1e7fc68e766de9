import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call, as the receiver of a site's totals sees it. */
export interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly atMs: number;
  /** The status that it was answered with; undefined while, or because, it was not. */
  status?: number;
}

export type Answer = (call: Call, response: ServerResponse) => void;

/** A customer's receiver on loopback. Sites are told apart by their path. */
export interface WebhookReceiver {
  readonly url: string;
  readonly calls: Call[];
  /** How it answers from now on; 200 unless told otherwise. */
  answer: Answer;
  of(path: string): Call[];
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
    of: (path) => receiver.calls.filter((call) => call.path === path),
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

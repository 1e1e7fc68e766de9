// Two platforms, Meta and Segment, and a customer's webhook, which record what they receive before they answer.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

/** How a platform answers, with Meta's error code. `lost`: it took the request, and the answer never arrives. */
const ANSWERS = {
  ok: { status: 200 },
  error: { status: 503, code: 2 },
  throttled: { status: 429, code: 17 },
  unauthorized: { status: 401, code: 190 },
  lost: { status: 0 },
};

export const PLATFORMS = {
  meta: {
    settings: { pixel_id: '1234567890', access_token: 'canary-meta-token' },
    items: (body) => body.data,
    idOf: (item) => item.event_id,
    orderOf: (item) => item.custom_data?.order_id,
    accepted: (items) => ({ events_received: items.length, messages: [], fbtrace_id: 'drill' }),
  },
  segment: {
    settings: { write_key: 'canary-segment-key' },
    items: (body) => body.batch ?? [body],
    idOf: (item) => item.messageId,
    orderOf: (item) => item.properties?.order_id,
    accepted: () => ({ success: true }),
  },
};

export class PlatformDouble {
  #server;
  /** `(platform, orders) => { answer, delayMs }`; the drill replaces it. */
  behave = () => ({ answer: 'ok', delayMs: 0 });
  requests = 0;
  /** Requests whose sender hung up before the answer: its attempt had timed out, or its process was gone. */
  abandoned = 0;

  static async start(ledger, pushes) {
    const double = new PlatformDouble();
    double.ledger = ledger;
    double.pushes = pushes;
    double.#server = createServer((request, response) => double.#handle(request, response));
    // A frozen instance sends the rest of a request much later.
    double.#server.requestTimeout = 0;
    double.#server.headersTimeout = 0;
    double.#server.keepAliveTimeout = 120_000;
    await new Promise((listening) => double.#server.listen(0, '127.0.0.1', listening));
    double.url = `http://127.0.0.1:${double.#server.address().port}`;
    return double;
  }

  #handle(request, response) {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => this.#answer(request, response, Buffer.concat(chunks).toString()));
  }

  #answer(request, response, text) {
    const name = request.url.split('/')[1];
    if (name === 'totals') return this.#answerPush(request, response, text);
    const platform = PLATFORMS[name];
    const items = platform.items(JSON.parse(text));
    const orders = items.map(platform.orderOf);
    const { answer, delayMs = 0 } = this.behave(name, orders);
    const at = Date.now();
    this.requests += 1;
    const records = items.map((item, index) => {
      const hash = createHash('sha256').update(JSON.stringify(item)).digest('hex');
      return { order: orders[index], id: platform.idOf(item), hash, number: this.requests };
    });
    const record = (what) => {
      for (const { order, id, hash, number } of records) {
        this.ledger.add(number, name, order, id, hash, what, at, request.url);
      }
    };
    record(answer);
    response.on('close', () => {
      if (response.writableFinished) return;
      this.abandoned += 1;
      // A second line for the same request.
      record('abandoned');
    });
    const send = () => {
      const { status, code } = ANSWERS[answer];
      if (status === 0) return request.socket.destroy();
      const body = status === 200 ? platform.accepted(items) : { error: { message: answer, code } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (delayMs > 0) setTimeout(send, delayMs);
    else send();
  }

  #answerPush({ headers }, response, text) {
    const { conversions } = JSON.parse(text);
    const [from, to] = [headers['x-cc-from-position'], headers['x-cc-to-position']];
    this.pushes.add(
      headers['webhook-id'],
      from,
      to,
      headers['x-cc-window-start'],
      headers['x-cc-window-end'],
      conversions,
    );
    response.writeHead(this.behave('totals', []).answer === 'ok' ? 200 : 500).end();
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

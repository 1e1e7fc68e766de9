import { request } from 'undici';
import { startTestAdmin, useAdmin } from './support/admin.js';
import { storeConversion } from './support/stored-conversion.js';

const META = { pixel_id: '1', access_token: 'token' };

const admin = await useAdmin();
const { log } = admin;
const boss = await admin.signedIn('admin');
for (const host of ['one.example', 'two.example']) await boss.post('/sites', { host });

function store(site: string, orderId: string): Promise<string> {
  return storeConversion(log, { site, orderId, settings: META, outcomes: [] });
}

async function tokenOf(role: 'operator' | 'analyst', sites: string[] | null = null) {
  const user = await admin.signedIn(role, sites);
  const { token, id } = await admin.withToken(user, ['read']);
  return { user, token, tokenId: id };
}

interface Message {
  readonly id: number;
  readonly event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare parts of it.
  readonly data: any;
}

/** A reader of the stream: what it got so far, and its end. */
class Reader {
  readonly messages: Message[] = [];
  private text = '';
  private isEnded = false;
  private onChange: (() => void)[] = [];

  private constructor(
    readonly status: number,
    private readonly body: AsyncIterable<Buffer> & { destroy(): unknown },
  ) {
    void this.read();
  }

  static async open(token: string, query = '', headers: Record<string, string> = {}, url = admin.url): Promise<Reader> {
    const reply = await request(`${url}/api/v1/events${query}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
      bodyTimeout: 0,
    });
    return new Reader(reply.statusCode, reply.body);
  }

  async until(condition: (messages: Message[]) => boolean): Promise<Message[]> {
    while (!condition(this.messages)) {
      if (this.isEnded) throw new Error(`The stream ended after ${this.messages.length} messages`);
      await this.change();
    }
    return this.messages;
  }

  async ended(): Promise<void> {
    while (!this.isEnded) await this.change();
  }

  close(): void {
    this.body.destroy();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.onChange.push(resolve));
  }

  private async read(): Promise<void> {
    try {
      for await (const chunk of this.body) {
        this.text += chunk;
        const parts = this.text.split('\n\n');
        this.text = parts.pop() as string;
        this.messages.push(...parts.map(messageOf).filter((message) => message !== undefined));
        this.changed();
      }
    } catch {
      // Closed by the test or cut off by the service.
    }
    this.isEnded = true;
    this.changed();
  }

  private changed(): void {
    for (const resolve of this.onChange.splice(0)) resolve();
  }
}

function messageOf(part: string): Message | undefined {
  const fields = new Map(part.split('\n').map((line) => line.split(/: (.*)/s) as [string, string]));
  const data = fields.get('data');
  const event = fields.get('event');
  return data === undefined
    ? undefined
    : { id: Number(fields.get('id')), ...(event && { event }), data: JSON.parse(data) };
}

const orders = (messages: Message[]) => messages.map(({ data }) => data.data.orderId);

describe('event stream of the management API', () => {
  it('sends the events of the sites that the caller may see, without personal data', async () => {
    const { token } = await tokenOf('analyst', ['one.example']);
    const reader = await Reader.open(token);
    await store('two.example', 'HIDDEN');
    const id = await store('one.example', 'SEEN');
    const [message] = await reader.until(({ length }) => length > 0);
    expect(message).toMatchObject({
      id: message?.data.position,
      data: { type: 'conversion.received.v1', site: 'one.example', data: { conversionId: id, orderId: 'SEEN' } },
    });
    expect(message?.data.personal).toBeUndefined();
    reader.close();
  });

  it('selects by site and type, and refuses what the caller may not see', async () => {
    const { token } = await tokenOf('operator', ['one.example']);
    expect((await Reader.open(token, '?site=two.example')).status).toBe(404);
    expect((await Reader.open(token, '?site=none.example')).status).toBe(404);
    expect((await Reader.open(token, '?missed=10')).status).toBe(400);
    const query = '?site=one.example&type=site.inbound_enabled.v1&type=site.inbound_disabled.v1';
    const reader = await Reader.open(token, query);
    await store('one.example', 'ANOTHER-TYPE');
    for (const [site, enabled] of [
      ['two.example', true],
      ['one.example', true],
      ['one.example', false],
    ] as const)
      await boss.put(`/sites/${site}/inbound`, { enabled });
    const messages = await reader.until(({ length }) => length >= 2);
    expect(messages.map(({ data }) => `${data.site} ${data.type}`)).toEqual([
      'one.example site.inbound_enabled.v1',
      'one.example site.inbound_disabled.v1',
    ]);
    reader.close();
  });

  it('continues after Last-Event-ID, without loss or repetition while events are stored', async () => {
    const { token } = await tokenOf('operator', ['one.example']);
    const first = await Reader.open(token);
    await store('one.example', 'A-0');
    const [message] = await first.until(({ length }) => length > 0);
    first.close();
    const expected = Array.from({ length: 600 }, (_, index) => `A-${index + 1}`);
    for (let at = 0; at < 300; at += 50)
      await Promise.all(expected.slice(at, at + 50).map((order) => store('one.example', order)));
    const second = await Reader.open(token, '', { 'last-event-id': String(message?.id) });
    for (let at = 300; at < 600; at += 50)
      await Promise.all(expected.slice(at, at + 50).map((order) => store('one.example', order)));
    const messages = await second.until(({ length }) => length >= 600);
    expect(orders(messages).toSorted()).toEqual(expected.toSorted());
    const ids = messages.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    second.close();
  });

  it('starts at the end of the log after a position beyond it, and refuses what is no position', async () => {
    const { token } = await tokenOf('operator');
    const reader = await Reader.open(token, '', { 'last-event-id': String(Number.MAX_SAFE_INTEGER) });
    await store('one.example', 'AFTER-ALL');
    const [skipped, ...sent] = await reader.until(({ length }) => length > 1);
    expect(skipped).toMatchObject({ event: 'skipped', data: { after: Number.MAX_SAFE_INTEGER, until: skipped?.id } });
    expect(orders(sent)).toEqual(['AFTER-ALL']);
    reader.close();
    for (const id of ['-1', 'x', '1.5', '99999999999999999999999'])
      expect((await Reader.open(token, '', { 'last-event-id': id })).status).toBe(400);
    for (const query of ['?after=-1', '?type=nothing', '?site=', '?more=1', `?after=${'9'.repeat(400)}`])
      expect((await Reader.open(token, query)).status).toBe(400);
  });

  it('gets a sign of life every second, also if there is no event', async () => {
    const { token } = await tokenOf('operator');
    const { body } = await request(`${admin.url}/api/v1/events?site=two.example`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const beganMs = performance.now();
    let signs = 0;
    for await (const _ of body) {
      signs += 1;
      if (signs === 6) break;
    }
    // With room for a machine that has much to do.
    expect(performance.now() - beganMs).toBeLessThan(45_000);
  });

  it('ends when the token is revoked, the role or the sites change, or the site is removed', async () => {
    await boss.post('/sites', { host: 'removed.example' });
    const revoked = await tokenOf('operator');
    const demoted = await tokenOf('operator');
    const restricted = await tokenOf('operator', ['one.example', 'two.example']);
    const removed = await tokenOf('operator');
    const stays = await tokenOf('operator');
    const open = ({ token }: { token: string }, query = '') => Reader.open(token, query);
    const readers = await Promise.all([revoked, demoted, restricted].map((caller) => open(caller)));
    const ofSite = await open(removed, '?site=removed.example');
    const staying = await open(stays);
    await boss.delete('/sites/removed.example');
    await revoked.user.delete(`/tokens/${revoked.tokenId}`);
    const change = async ({ user }: { user: typeof boss }, body: object) =>
      boss.patch(`/users/${(await user('/session')).body.id}`, body);
    await change(demoted, { disabled: true });
    await change(restricted, { sites: ['two.example'] });
    await Promise.all([...readers, ofSite].map((reader) => reader.ended()));
    await store('one.example', 'STILL');
    await staying.until((messages) => messages.some(({ data }) => data.data.orderId === 'STILL'));
    staying.close();
  });

  it('is limited to ten per user', async () => {
    const { token } = await tokenOf('operator');
    const readers = await Promise.all(Array.from({ length: 12 }, () => Reader.open(token)));
    expect(readers.map(({ status }) => status).toSorted()).toEqual([...Array(10).fill(200), 429, 429]);
    for (const reader of readers) reader.close();
    for (;;) {
      const reader = await Reader.open(token);
      reader.close();
      if (reader.status === 200) return;
    }
  });

  it('ends at once when the service stops', async () => {
    const other = await startTestAdmin(admin.databaseUrl, { SHUTDOWN_GRACE: '10m' });
    const { token } = await tokenOf('operator');
    const reader = await Reader.open(token, '', {}, other.url);
    await Promise.all([other.stop(), reader.ended()]);
  });
});

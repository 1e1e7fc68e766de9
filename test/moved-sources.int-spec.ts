import { startCells, type TestCell } from './support/cells.js';
import type { Reply } from './support/service.js';
import { bodyOf, type ConnectedSource, connectSource, deliver, fixtureOf, play } from './support/source-deliveries.js';

let a: TestCell;
let b: TestCell;

beforeAll(async () => {
  [a, b] = await startCells({ INBOUND_DEADLINE: '1s' });
});
afterAll(async () => {
  for (const cell of [a, b]) await cell?.stop();
});

async function move(from: TestCell, to: TestCell, { site: { host } }: ConnectedSource): Promise<void> {
  expect(await from.cli('sites', 'move', host, '--to', to.name, '--yes')).toMatchObject({ code: 0 });
  for (const { service } of [from, to]) await service.refreshSites();
}

/** The order with this number. */
function order(number: number): { raw: string; topic: string } {
  const { raw, topic } = fixtureOf('shopify', 'orders-paid');
  return { raw: raw.replaceAll('820982911946154508', String(number)), topic };
}

const send = ({ service }: TestCell, to: ConnectedSource, number: number) => {
  const { raw, topic } = order(number);
  return deliver(service, to, raw, topic);
};
const outcome = (reply: Reply) => (reply.status === 200 ? bodyOf(reply)['outcome'] : reply.status);

it('a source of a site that moves works in the other cell with the same URL and secret, and loses nothing', async () => {
  const site = await a.operator.openSite();
  const to = await connectSource(a.operator, site, 'shopify');
  const stripe = await connectSource(a.operator, site, 'stripe');
  await a.service.refreshSites();
  expect(outcome(await send(a, to, 1))).toBe('received');
  await move(a, b, to);
  // The cell that the site has left makes the sender repeat.
  const left = await send(a, to, 2);
  expect(left).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) } });
  expect(bodyOf(left)).toMatchObject({ ok: false });
  expect(outcome(await send(b, to, 1))).toBe('repeated');
  expect(outcome(await send(b, to, 2))).toBe('received');
  expect(outcome(await play(b.service, stripe, 'checkout.session.completed'))).toBe('received');
  expect(outcome(await play(b.service, stripe, 'checkout.session.completed', { secret: 'wrong' }))).toBe(400);

  await move(b, a, to);
  expect(outcome(await send(b, to, 3))).toBe(503);
  for (const number of [1, 2]) expect(outcome(await send(a, to, number))).toBe('repeated');
  expect(outcome(await send(a, to, 3))).toBe('received');
  expect(outcome(await play(a.service, stripe, 'checkout.session.completed'))).toBe('repeated');
  expect(await a.operator.conversions(site.host)).toHaveLength(4);
  for (const cell of [a, b]) {
    const { checks } = JSON.parse((await cell.cli('history', 'verify', '--json')).out);
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
  }
});

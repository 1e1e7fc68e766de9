import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CellLists } from '../src/sites/cell-lists.js';
import type { OtherCell } from '../src/sites/other-cells.js';
import { eventually } from './support/waiting.js';

/** A cell whose answers the test gives. */
let server: Server;
let requests: ServerResponse[];
let nowMs: number;
let lists: CellLists;

beforeEach(async () => {
  requests = [];
  nowMs = 0;
  server = createServer((_, response) => void requests.push(response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  lists = new CellLists([{ name: 'north', url, token: 'cct_token' }], () => nowMs);
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const asked = (count: number) =>
  eventually(
    async () => requests.length,
    (length) => length === count,
  );
const answer = (host: string) => {
  const site = { id: '1', host, aliases: [], inbound: true, createdAt: '2026-01-01T00:00:00.000Z' };
  requests
    .at(-1)
    ?.writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ items: [site] }));
};
const hosts = async (pending: ReturnType<CellLists['all']>) =>
  (await pending).map(({ sites }) => sites?.map(({ host }) => host));

it('a list of cells asks a cell once for all callers at the time and within five seconds, then again', async () => {
  const views = [lists.all(), lists.all(), lists.all()];
  await asked(1);
  answer('one.example');
  for (const view of views) expect(await hosts(view)).toEqual([['one.example']]);
  nowMs = 4_999;
  expect(await hosts(lists.all())).toEqual([['one.example']]);
  expect(requests).toHaveLength(1);
  nowMs = 5_000;
  const later = lists.all();
  await asked(2);
  answer('two.example');
  expect(await hosts(later)).toEqual([['two.example']]);
});

it('a list of cells does not wait again for a cell that did not answer, and has its sites when it does', async () => {
  /** The answers of a cell that is asked; the test gives them. */
  const pending: ((list: OtherCell) => void)[] = [];
  const ask = () => new Promise<OtherCell[]>((resolve) => pending.push((list) => resolve([list])));
  const cell = { name: 'north', url: 'https://admin.north.example', token: 'cct_token' };
  lists = new CellLists([cell], () => nowMs, ask);
  const silent = { name: cell.name, url: cell.url, problem: 'Its management API does not answer.' };
  const first = lists.all();
  pending[0]?.(silent);
  expect(await first).toEqual([silent]);
  nowMs = 5_000;
  // It was asked again, and has not answered.
  expect(await lists.all()).toEqual([silent]);
  expect(await lists.all()).toEqual([silent]);
  expect(pending).toHaveLength(2);
  pending[1]?.({ ...cell, sites: [] });
  await eventually(
    () => lists.all(),
    ([list]) => list?.sites !== undefined,
  );
});

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { IssueKey } from '../../src/sites/key.commands.js';
import { AddSite, EnableInbound } from '../../src/sites/site.commands.js';
import { createDatabase } from '../support/databases.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import {
  eventually,
  type Operator,
  openOperator,
  post,
  startTestService,
  type TestService,
  type TestSite,
} from '../support/service.js';
import { launchChromium } from './chromium.mjs';
import { DOC_SAMPLES } from './shop-server.js';

jest.setTimeout(60_000);

const HOST = 'track.shop.localhost';
const EMAIL = 'Jane.Doe@Example.com';
let server: TestServer;
let operator: Operator;
let service: TestService;
let pages: Server;
let browser: Browser;
let door: TestSite;

beforeAll(async () => {
  server = await startTestServer();
  const databaseUrl = await createDatabase(server);
  operator = await openOperator(databaseUrl);
  service = await startTestService(databaseUrl);
  await operator.execute(new AddSite('cli', HOST));
  await operator.execute(new EnableInbound('cli', HOST));
  const { key, id } = await operator.execute(new IssueKey('cli', HOST, 'test', false));
  door = { host: HOST, key, keyId: id };
  await operator.set(HOST, 'origin', 'shop.localhost');
  await service.refreshSites();
  const snippet = DOC_SAMPLES.html[0].replace('https://track.shop.example', `http://${HOST}:${service.port}`);
  const form =
    '<form action="/thanks"><input type="email" name="email"><input name="name"><button>Order</button></form>';
  pages = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><head>${snippet}</head>${form}`),
  );
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  browser = (await launchChromium()) as Browser;
}, 60_000);
afterAll(async () => {
  await browser?.close();
  pages.closeAllConnections();
  pages.close();
  await service.stop();
  await operator.close();
  await server.stop();
}, 60_000);

/** Follows an ad click to an order with an email, then posts the conversion as the shop's backend. */
async function order(orderId?: string): Promise<{ receipt: object; personal: Record<string, unknown> | null }> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const landing = `http://shop.localhost:${(pages.address() as AddressInfo).port}/sale?gclid=Cj0_MixedCase&utm_source=google`;
  const before = (await operator.log.read({ categories: ['visitor'] })).length;
  await page.goto(landing);
  await page.fill('input[type=email]', ` ${EMAIL} `);
  await page.click('button');
  await page.waitForURL(/thanks/);
  await eventually(
    () => operator.log.read({ categories: ['visitor'], types: ['visitor.identified.v1'] }),
    (events) => events.some(({ position }) => position > before),
  );
  await context.close();
  const reply = await post(service, door, { email: EMAIL, event: 'purchase', value: 10, orderId });
  const [conversion] = orderId ? await operator.log.find(HOST, orderId) : [];
  return { receipt: JSON.parse(reply.body), personal: conversion?.personal ?? null };
}

it('filters the lead of an automated browser', async () => {
  expect((await order()).receipt).toEqual({ ok: true, filtered: true });
});

it('joins an ad click, a submitted form and a conversion from the backend', async () => {
  await operator.set(HOST, 'allow-ip', '127.0.0.1');
  await service.refreshSites();
  const landedAt = await operator.log.head();
  const { receipt, personal } = await order('ORD-1');
  expect(receipt).toEqual({ ok: true, event: 'purchase', results: {} });
  expect(personal?.['visit']).toMatchObject({
    pageUrl: expect.stringMatching(/^http:\/\/shop\.localhost:\d+\/sale$/),
    clicks: { gclid: { id: 'Cj0_MixedCase' } },
    utm: { source: 'google' },
    userAgent: expect.stringContaining('Chrome'),
  });
  // The landing's cookie proved that the service saw the click before the form.
  const [identified] = await operator.log.read({ types: ['visitor.identified.v1'], after: landedAt });
  expect(identified?.personal).toMatchObject({ known: true, clicks: { gclid: { landedMs: expect.any(Number) } } });
  const wholeLog = JSON.stringify(await operator.log.read());
  expect(wholeLog.toLowerCase()).not.toContain('jane');
});

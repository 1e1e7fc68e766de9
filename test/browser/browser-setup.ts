import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { connectChromium } from './chromium.mjs';
import { type Post, ShopServer } from './shop-server.js';

export type { Post };
export const EMAIL = ' Jo.Doe+Sale@Customer.example ';
export const HASH = sha256('jo.doe+sale@customer.example');
export const FORM = '<form action="/thanks"><input type="email" name="email"><button>Send</button></form>';
/** Submitting it does not navigate. */
export const INERT_FORM = FORM.replace('<form', '<form onsubmit="return false"');
export const [GRANTED, DENIED] = ['granted', 'denied'].map((all) => ({
  ad_storage: all,
  ad_user_data: all,
  ad_personalization: all,
  analytics_storage: all,
}));

let browser: Browser;
export let shop: ShopServer;
export let context: BrowserContext;
export let page: Page;
/** Errors and warnings on the browser's console, and uncaught errors. */
export let browserErrors: string[];

/** Registers what opens a shop and a new visitor for each test of a file. */
export function testTag(): void {
  jest.setTimeout(120_000);

  beforeAll(async () => {
    browser = await connectChromium();
  });
  afterAll(() => browser?.close());

  beforeEach(async () => {
    shop = await new ShopServer().open();
    await newVisitor();
  });
  afterEach(async () => {
    await context.close();
    await shop.close();
    // In every test: no post contains the email address, and the tag causes no error on the page.
    for (const post of shop.posts) {
      expect(decodeAll(JSON.stringify(post))).not.toMatch(/customer\.example|jo\.doe/i);
      expect(Buffer.byteLength(post.text)).toBeLessThanOrEqual(8192);
    }
    expect(browserErrors).toEqual([]);
  });
}

export async function newVisitor(): Promise<void> {
  await context?.close();
  browserErrors = [];
  context = await browser.newContext();
  context.setDefaultTimeout(60_000);
  shop.watch(context);
  context.on('weberror', (error) => browserErrors.push(String(error.error())));
  context.on('console', (message) => {
    if (/error|warning/.test(message.type())) browserErrors.push(message.text());
  });
  page = await context.newPage();
}

/** Fills in and submits the form like a visitor, but fills in hidden fields too. */
export async function submit(value: string): Promise<void> {
  await page.evaluate((text) => {
    const form = document.querySelector('form') as HTMLFormElement;
    for (const field of Array.from(form.elements)) (field as HTMLInputElement).value = text;
    form.requestSubmit();
  }, value);
}

export async function identifyEmail(email = EMAIL): Promise<void> {
  await page.evaluate((address) => cc.identifyEmail(address), email);
}

export async function setConsent(consent: unknown): Promise<void> {
  await page.evaluate((value) => cc('consent', value), consent);
}

/** The localStorage and cookies of the page's host, as text. */
export async function storedText(): Promise<string> {
  const values = await page.evaluate(() => ({ ...localStorage }));
  for (const { name, value } of await context.cookies(page.url())) values[`cookie ${name}`] = value;
  return decodeAll(JSON.stringify(values));
}

/** The posts that identify a person or change a person's consent. */
export function personalPosts(): Post[] {
  return shop.posts.filter(({ endpoint, body }) => endpoint === 'identify' || endpoint === 'consent' || body.hash);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function decodeAll(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

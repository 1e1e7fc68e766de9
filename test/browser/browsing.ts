import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { CHROMIUM_REMEDY, launchChromium } from './chromium.mjs';
import { type Post, Shops } from './shop.js';

// One browser per file of tests, and for every test a visitor who has never been there. Importing this sets it up.

jest.setTimeout(60_000);

export type { Post };
export const EMAIL = ' Jo.Doe+Sale@Customer.example ';
export const HASH = sha256('jo.doe+sale@customer.example');
export const FORM = '<form action="/thanks"><input type="email" name="email"><button>Send</button></form>';
/** One that goes nowhere. */
export const STILL_FORM = FORM.replace('<form', '<form onsubmit="return false"');
export const [GRANTED, DENIED] = ['granted', 'denied'].map((all) => ({
  ad_storage: all,
  ad_user_data: all,
  ad_personalization: all,
  analytics_storage: all,
}));

let browser: Browser;
export let shops: Shops;
export let context: BrowserContext;
export let page: Page;
/** Errors and warnings of the browser's console, and errors that the page did not catch. */
export let complaints: string[];

beforeAll(async () => {
  const started = await launchChromium();
  if (!started) throw new Error(`No Chromium starts here: ${CHROMIUM_REMEDY}.`);
  browser = started;
});

afterAll(async () => {
  await browser?.close();
});

beforeEach(async () => {
  shops = await new Shops().open();
  await newVisitor();
});

afterEach(async () => {
  await context.close();
  await shops.close();
  // Whatever the test was about: no request to the service tells the address, and the page heard no complaint.
  for (const post of shops.posts) {
    expect(decodeAll(JSON.stringify(post))).not.toMatch(/customer\.example|jo\.doe/i);
    expect(post.request.headers).not.toHaveProperty('cookie');
    expect(Buffer.byteLength(post.text)).toBeLessThanOrEqual(8192);
  }
  expect(complaints).toEqual([]);
});

export async function newVisitor(): Promise<void> {
  await context?.close();
  complaints = [];
  context = await browser.newContext();
  context.on('weberror', (error) => complaints.push(String(error.error())));
  context.on('console', (message) => {
    if (/error|warning/.test(message.type())) complaints.push(message.text());
  });
  page = await context.newPage();
}

/** As a visitor does, except that hidden fields are filled in too. */
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

export async function say(consent: unknown): Promise<void> {
  await page.evaluate((said) => cc('consent', said), consent);
}

/** Everything that the page's host keeps in this browser. */
export async function stored(): Promise<string> {
  const kept = await page.evaluate(() => ({ ...localStorage }));
  for (const { name, value } of await context.cookies(page.url())) kept[`cookie ${name}`] = value;
  return decodeAll(JSON.stringify(kept));
}

/** The posts that tell of a person. */
export function toldOfSomebody(): Post[] {
  return shops.posts.filter(({ to, body }) => to === 'identify' || to === 'consent' || body.hash);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function decodeAll(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

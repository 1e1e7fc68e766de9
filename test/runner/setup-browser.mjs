import { serveChromium } from '../browser/chromium.mjs';
import setUp from './setup.mjs';

/** One browser for all specs of a run; each has contexts of its own. Started first: see serveChromium. */
export default async function setUpBrowser() {
  globalThis.ccChromium ??= await serveChromium();
  await setUp();
}

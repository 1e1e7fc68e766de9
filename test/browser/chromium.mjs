// Launches a real Chromium: the one from npm, or else one that is installed on the machine.
import { existsSync } from 'node:fs';
import bundled from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
export const CHROMIUM_REMEDY = 'install the package chromium, or libnss3 for the one from npm';

/** @returns a running browser, or undefined if none starts */
export async function launchChromium({ args = [], ...options } = {}) {
  const bundledPath = await bundled.executablePath().catch(() => undefined);
  for (const executablePath of [bundledPath, ...INSTALLED].filter((path) => path && existsSync(path))) {
    // Without the package's default arguments: they disable web security, which these tests depend on.
    const browser = await chromium.launch({ executablePath, args, ...options }).catch(() => undefined);
    if (browser) return browser;
  }
  return undefined;
}

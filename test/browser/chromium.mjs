// A real Chromium: the one from npm, else one that is installed on the machine.
import { existsSync } from 'node:fs';
import bundled from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
export const CHROMIUM_REMEDY = 'install the package chromium, or libnss3 for the one from npm';

/** @returns a running browser, or undefined when none can start here */
export async function launchChromium({ args = [], ...options } = {}) {
  const bundledPath = await bundled.executablePath().catch(() => undefined);
  for (const executablePath of [bundledPath, ...INSTALLED].filter((path) => path && existsSync(path))) {
    // Not the arguments that come with the package: they switch off the web's security, which is what is tested here.
    const browser = await chromium.launch({ executablePath, args, ...options }).catch(() => undefined);
    if (browser) return browser;
  }
  return undefined;
}

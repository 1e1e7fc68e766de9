// A real Chromium: the one from npm, or else one that is installed on the machine.
import { existsSync } from 'node:fs';
import bundled from '@sparticuz/chromium';
import { chromium } from 'playwright-core';

const INSTALLED = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`);
export const CHROMIUM_REMEDY = 'install the package chromium, or libnss3 for the one from npm';

/** @returns a running browser, or undefined if none starts */
export function launchChromium(options = {}) {
  return startFirst((executablePath) => chromium.launch({ executablePath, ...options }));
}

/** Starts the browser of a test run, to which specs connect, and returns it. Without one, its address stays undefined. */
export async function serveChromium() {
  const server = await startFirst((executablePath) => {
    // The package unpacks it into the temporary folder, which is another one in specs.
    process.env.CC_TEST_CHROMIUM_PATH = executablePath;
    // It ends with this process, whose signals it must not handle: a run that is terminated would continue without it.
    return chromium.launchServer({ executablePath, handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false });
  });
  if (server) process.env.CC_TEST_CHROMIUM = server.wsEndpoint();
  return server;
}

/** Connects to the browser of the test run. Closing the connection closes the pages that were opened with it. */
export async function connectChromium() {
  const address = process.env.CC_TEST_CHROMIUM;
  if (!address) throw new Error(`Chromium does not start: ${CHROMIUM_REMEDY}.`);
  return chromium.connect(address);
}

async function startFirst(start) {
  const bundledPath = process.env.CC_TEST_CHROMIUM_PATH ?? (await bundled.executablePath().catch(() => undefined));
  for (const path of [bundledPath, ...INSTALLED].filter((path) => path && existsSync(path))) {
    // Without the package's default arguments: they disable web security, which these tests depend on.
    const started = await start(path).catch(() => undefined);
    if (started) return started;
  }
  return undefined;
}

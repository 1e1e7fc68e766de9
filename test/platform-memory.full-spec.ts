import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { PlatformClient } from '../src/delivery/connections/platform-client.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectedPlatform } from './support/connected-platform.js';
import { PLATFORM_CASES } from './support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from './support/sample-conversions.js';

const MEGABYTE = 1024 * 1024;

it('memory does not grow with the size of the answers of platforms', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const sandbox = await new Sandbox().start();
  const client = new PlatformClient(false);
  const receiveAll = async (mode: string) => {
    for (const platformCase of PLATFORM_CASES) {
      const connected = new ConnectedPlatform(platformCase, sandbox.url, client);
      await connected.behave(mode);
      await connected.sendOne({ ...SAMPLE_CONVERSIONS['with-click-id'], timeMs: Date.now() - 1_000 });
      // The sandbox runs in this process and allocates ten megabytes for every huge answer.
      if (mode === 'huge') collectGarbage();
    }
  };
  await receiveAll('gzip_bomb');
  await receiveAll('huge');
  const before = process.memoryUsage.rss();
  let peak = before;
  const measure = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(measure, 2).unref();
  for (const mode of ['huge', 'gzip_bomb', 'truncated', 'html', 'half', 'error_in_200']) await receiveAll(mode);
  clearInterval(timer);
  await client.close();
  await sandbox.stop();
  expect((peak - before) / MEGABYTE).toBeLessThan(50);
});

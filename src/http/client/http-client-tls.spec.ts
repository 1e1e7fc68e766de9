import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '../../../test/support/service.js';
import { HttpClient } from './http-client.js';

describe('HttpClient, over TLS', () => {
  it('sends nothing to a server with an untrusted certificate, even if private addresses are allowed', async () => {
    let requests = 0;
    const server = createServer(makeCertificate(), (_, response) => {
      requests += 1;
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const httpClient = new HttpClient({ connectionsPerOrigin: 1, timeoutMs: 2_000, allowPrivate: true });
    try {
      for (const guarded of [true, false]) {
        const call = httpClient.send({ method: 'GET', url: `https://localhost:${port}/`, headers: {} }, { guarded });
        await expect(call).rejects.toMatchObject({
          kind: 'network_error',
          sent: false,
          message: expect.stringContaining('certificate that is not trusted'),
        });
      }
      expect(requests).toBe(0);
    } finally {
      await httpClient.close();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '../../../test/support/certificate.js';
import { Outgoing } from './outgoing.js';

describe('Outgoing, over TLS', () => {
  it('tells nothing to whom it cannot verify, also where private addresses are allowed', async () => {
    let requests = 0;
    const server = createServer(makeCertificate(), (_, response) => {
      requests += 1;
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const outgoing = new Outgoing({ connectionsPerOrigin: 1, timeoutMs: 2_000, allowPrivate: true });
    try {
      for (const guarded of [true, false]) {
        const call = outgoing.send({ method: 'GET', url: `https://localhost:${port}/`, headers: {} }, { guarded });
        await expect(call).rejects.toMatchObject({
          kind: 'network_error',
          sent: false,
          message: expect.stringContaining('certificate that is not trusted'),
        });
      }
      expect(requests).toBe(0);
    } finally {
      await outgoing.close();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

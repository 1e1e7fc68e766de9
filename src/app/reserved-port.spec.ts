import { type AddressInfo, connect, createServer } from 'node:net';
import { UserError } from '../kernel/errors.js';
import { reservePort } from './reserved-port.js';

const HOST = '127.0.0.1';

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, HOST, listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

describe('reservePort', () => {
  it('holds the port until it is freed', async () => {
    const port = await freePort();
    const free = await reservePort({ port, host: HOST });
    await expect(reservePort({ port, host: HOST })).rejects.toThrow(`Port ${port} on ${HOST} is in use.`);
    const socket = connect(port, HOST).on('error', () => {});
    await new Promise((closed) => socket.once('close', closed));
    await free();
    await (await reservePort({ port, host: HOST }))();
  });

  it('names HOST if it is no address of this machine, without a stack trace', async () => {
    const refused = reservePort({ port: 0, host: '192.0.2.1' });
    await expect(refused).rejects.toThrow(/^HOST: 192\.0\.2\.1 is not an address of this machine/);
    await expect(refused).rejects.toBeInstanceOf(UserError);
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

/**
 * Opens one more connection to `server` and resolves once the server has accepted it. A server accepts connections in the
 * order in which they were established, so it has then accepted every earlier one.
 */
export async function acceptOneMore(server: Server): Promise<void> {
  const { port, address } = server.address() as AddressInfo;
  const accepted: (number | undefined)[] = [];
  const note = (socket: Socket) => accepted.push(socket.remotePort);
  server.on('connection', note);
  const extra = connect(port, address);
  await once(extra, 'connect');
  while (!accepted.includes(extra.localPort)) await once(server, 'connection');
  server.off('connection', note);
  extra.destroy();
}

import { once } from 'node:events';
import { type AddressInfo, connect, type Server, type Socket } from 'node:net';

/**
 * Opens extra connections to `server`, one after the other, until the server has accepted every connection that the code
 * under test has opened: a server accepts in the order in which connections are established. The first extra connection
 * takes several event-loop turns, in which deferred connection attempts start; they precede the second one.
 * Returns how many were opened.
 */
export async function acceptExtraConnections(server: Server): Promise<number> {
  const count = 2;
  for (let index = 0; index < count; index += 1) await acceptOne(server);
  return count;
}

async function acceptOne(server: Server): Promise<void> {
  const { port, address } = server.address() as AddressInfo;
  const acceptedPorts: (number | undefined)[] = [];
  const onConnection = (socket: Socket) => acceptedPorts.push(socket.remotePort);
  server.on('connection', onConnection);
  const extra = connect(port, address);
  await once(extra, 'connect');
  while (!acceptedPorts.includes(extra.localPort)) await once(server, 'connection');
  server.off('connection', onConnection);
  extra.destroy();
}

import { createServer, type Server } from 'node:net';
import { messageOf, UserError } from '../kernel/errors.js';

interface ListenAddress {
  readonly port: number;
  readonly host: string;
}

/**
 * Binds the port before anything is changed: a start that cannot listen leaves the database and a running service as they
 * are. Connections are closed until the service itself listens. Resolves with a function that frees the port.
 */
export async function reservePort({ port, host }: ListenAddress): Promise<() => Promise<void>> {
  const server: Server = createServer((socket) => socket.destroy()).unref();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(describeListenError(error, { port, host })));
    server.listen(port, host, resolve);
  });
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** What an operator can do about an address that cannot be listened on. */
export function describeListenError(error: unknown, { port, host }: ListenAddress): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new UserError(
        `Port ${port} on ${host} is in use. Stop the process that listens on it, or set PORT to another one.`,
      );
    case 'EADDRNOTAVAIL':
      return new UserError(
        `HOST: ${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all of them.`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new UserError(`HOST: "${host}" cannot be resolved. Set HOST to an address of this machine.`);
    case 'EACCES':
      return new UserError(`Port ${port} needs privileges that this process lacks. Set PORT to one above 1023.`);
    default:
      return new UserError(`The service cannot listen on ${host}, port ${port}: ${messageOf(error)}.`);
  }
}

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Answer } from './answer.js';

export const MAX_HEADER_BYTES = 16 * 1024;

const CLIENT_ERRORS: Readonly<Record<string, [status: number, text: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive. Send it again in one go.'],
  HPE_HEADER_OVERFLOW: [431, `The headers are larger than ${MAX_HEADER_BYTES} bytes.`],
};

/** Answers a request that is not HTTP or arrives too slowly and closes the connection: a listener of `clientError`. */
export function clientErrorAnswerer(answerFor: (status: number, text: string) => Answer) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    const isAboutHttp = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' || error.code?.startsWith('HPE_');
    if (!isAboutHttp || !socket.writable) {
      // Disconnected, or the TLS handshake failed: nothing can be sent, and waiting would keep the socket forever.
      socket.destroy();
      return;
    }
    const [status, text] = CLIENT_ERRORS[error.code ?? ''] ?? [400, 'This is not a valid HTTP/1.1 request.'];
    socket.end(rawAnswer(answerFor(status, text)));
    socket.destroySoon();
  };
}

function rawAnswer({ status, type, body, headers = {} }: Answer): string {
  const all = { ...headers, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

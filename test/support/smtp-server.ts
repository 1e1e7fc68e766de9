import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface ReceivedEmail {
  readonly from: string;
  readonly to: string;
  /** With its headers. */
  readonly text: string;
}

/** An SMTP server on loopback that keeps what it receives. */
export interface SmtpServer {
  readonly url: string;
  readonly emails: ReceivedEmail[];
  /** The answer to the recipient, such as `550 No such user`; 250 by default. */
  recipientAnswer: string;
  stop(): Promise<void>;
}

export async function startSmtpServer(): Promise<SmtpServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}));
    converse(socket, smtp);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const smtp: SmtpServer = {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    emails: [],
    recipientAnswer: '250 OK',
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return smtp;
}

function converse(socket: Socket, smtp: SmtpServer): void {
  const answer = (line: string) => socket.write(`${line}\r\n`);
  let [from, to, text, pending]: [string, string, string | undefined, string] = ['', '', undefined, ''];
  answer('220 test ESMTP');
  socket.on('data', (bytes) => {
    const lines = (pending + bytes.toString()).split('\r\n');
    pending = lines.pop() as string;
    for (const line of lines) {
      if (text !== undefined) {
        if (line !== '.') text += `${line}\n`;
        else {
          smtp.emails.push({ from, to, text });
          text = undefined;
          answer('250 OK');
        }
      } else if (/^EHLO/i.test(line)) answer('250 test');
      else if (/^MAIL FROM/i.test(line)) {
        from = addressIn(line);
        answer('250 OK');
      } else if (/^RCPT TO/i.test(line)) {
        to = addressIn(line);
        answer(smtp.recipientAnswer);
      } else if (/^DATA/i.test(line)) {
        text = '';
        answer('354 Go ahead');
      } else if (/^QUIT/i.test(line)) socket.end('221 Bye\r\n');
      else answer('250 OK');
    }
  });
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

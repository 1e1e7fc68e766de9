import { isLoopbackHost } from '../../kernel/addresses.js';
import { TimedOut, withTimeout } from '../../kernel/with-timeout.js';

const TIMEOUT_MS = 10_000;
/** All of it. */
export const EMAIL_MS = 20_000;

export interface Smtp {
  readonly url: string;
  readonly from: string;
}

export interface Email {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Undefined, or why the server did not take it. The reason has neither the address nor a text of the server, which often repeats it. */
export async function sendEmail(
  { url, from }: Smtp,
  { messageId, to, subject, text }: Email,
): Promise<string | undefined> {
  // Rarely used, so it is loaded when it is.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    url,
    ...(requiresTls(new URL(url)) && { requireTLS: true }),
    ...{
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      dnsTimeout: TIMEOUT_MS,
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  try {
    const id = `<${messageId}@${from.split('@')[1]}>`;
    // Some receivers answer messages of people only.
    const headers = { 'Auto-Submitted': 'auto-generated' };
    await withTimeout(
      transport.sendMail({ from, to: { name: '', address: to }, subject, text, messageId: id, headers }),
      EMAIL_MS,
    );
    return undefined;
  } catch (error) {
    return reasonOf(error);
  } finally {
    transport.close();
  }
}

/** A password is not sent in the clear because something between has removed STARTTLS, unless the URL allows it. */
function requiresTls({ protocol, username, hostname, searchParams }: URL): boolean {
  return (
    protocol === 'smtp:' && username !== '' && !isLoopbackHost(hostname) && searchParams.get('ignoreTLS') !== 'true'
  );
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  EAUTH: 'the server refused the user or the password of SMTP_URL',
  EENVELOPE: 'the server refused the sender or the recipient',
  EMESSAGE: 'the server refused the message',
  ETLS: 'the server does not offer TLS',
  EDNS: 'the name of the server has no address',
  ECONNECTION: 'the server cannot be reached',
  ESOCKET: 'the server cannot be reached',
  ETIMEDOUT: 'the server did not answer in time',
};

function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  const known = error instanceof TimedOut ? 'ETIMEDOUT' : (code ?? 'unknown error');
  const status = responseCode === undefined ? '' : ` (SMTP ${responseCode})`;
  return `${known}: ${EXPLANATIONS[known] ?? 'the email was not sent'}${status}`;
}

import type { HttpClient, HttpRequest } from '../../http/client/http-client.js';
import { SendFailure } from '../../http/client/send-failure.js';
import { signature } from '../../http/webhook-signature.js';
import { type Verdict, verdictOf, verdictOfFailure } from '../../outbound/push-verdict.js';
import type { AlertChannel } from './channel.js';
import { type AlertMessage, type Sender, slackBody, subjectOf, textOf, webhookBody } from './message.js';
import { type Smtp, sendEmail } from './send-email.js';

/** What is sealed of a channel. */
export interface ChannelSecrets {
  readonly name?: string;
  /** The recipient of emails. */
  readonly to?: string;
  readonly url?: string;
  readonly secret?: string;
}

export interface Transports {
  readonly httpClient: HttpClient;
  /** Undefined: no server is set. */
  readonly smtp: Smtp | undefined;
}

export type SendVerdict = { readonly accepted: true } | (Verdict & { readonly accepted: false });

/** One attempt. `mayGo`: whether it may still be sent once a connection is free; if not, the result is undefined. */
export async function sendMessage(
  { httpClient, smtp }: Transports,
  { channel, secrets, sender }: { channel: Pick<AlertChannel, 'kind'>; secrets: ChannelSecrets; sender: Sender },
  message: AlertMessage,
  nowMs: number,
  mayGo?: () => boolean,
): Promise<SendVerdict | undefined> {
  if (channel.kind === 'email') {
    if (secrets.to === undefined) return refused(SEALED);
    if (!smtp) return refused('SMTP_URL is not set');
    const subject = `[Clean Conversions] ${subjectOf(message)}`;
    const reason = await sendEmail(smtp, {
      messageId: message.id,
      to: secrets.to,
      subject,
      text: textOf(message, sender),
    });
    return reason === undefined ? { accepted: true } : refused(reason);
  }
  const { url, secret } = secrets;
  if (url === undefined) return refused(SEALED);
  if (channel.kind === 'slack')
    return post(httpClient, { url, body: slackBody(message, sender), headers: {} }, nowMs, mayGo);
  if (secret === undefined) return refused(SEALED);
  const body = webhookBody(message, sender);
  return post(httpClient, { url, body, headers: signedHeaders(message.id, secret, body, nowMs) }, nowMs, mayGo);
}

const SEALED = 'secret_missing: SECRET_KEY cannot decrypt the address of the channel, add it again';

function refused(reason: string): SendVerdict {
  return { accepted: false, reason };
}

function signedHeaders(id: string, secret: string, body: string, nowMs: number): HttpRequest['headers'] {
  const timestamp = Math.floor(nowMs / 1_000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature(secret, id, timestamp, body),
  };
}

async function post(
  httpClient: HttpClient,
  { url, body, headers }: { url: string; body: string; headers: HttpRequest['headers'] },
  nowMs: number,
  mayGo: (() => boolean) | undefined,
): Promise<SendVerdict | undefined> {
  const request: HttpRequest = {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    body,
  };
  try {
    const response = await httpClient.send(request, { guarded: true, statusSuffices: true, ...(mayGo && { mayGo }) });
    return verdictOf(response, nowMs);
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error;
    return mayGo?.() === false && !error.sent ? undefined : verdictOfFailure(error);
  }
}

import type { Settings } from '../../kernel/settings/settings.js';
import { uuidv7 } from '../../kernel/uuid.js';
import { openHttpClient } from '../../outbound/pusher.js';
import { type ChannelDependencies, channelSecrets, readChannel } from './channels.js';
import type { AlertMessage, Sender } from './message.js';
import { EMAIL_MS } from './send-email.js';
import { sendMessage } from './send-message.js';

/** The longest that an attempt to send a message takes. */
export function attemptMs({ outboundTimeoutMs }: Settings): number {
  return Math.max(EMAIL_MS, outboundTimeoutMs);
}

/** Without ADMIN_URL the dashboard is reached on this machine only. */
export function senderOf({ cell, adminUrl, adminPort }: Settings): Sender {
  return { cell, dashboardUrl: adminUrl ?? (adminPort ? `http://127.0.0.1:${adminPort}` : undefined) };
}

export interface ChannelTest {
  readonly id: string;
  readonly ok: boolean;
  readonly reason?: string;
}

/** Sends a test message to a channel, also to a paused one. */
export async function testChannel(
  { settings, postgres, log, secrets }: Pick<ChannelDependencies, 'settings' | 'postgres' | 'log' | 'secrets'>,
  id: string,
): Promise<ChannelTest> {
  const channel = await readChannel(log, id);
  const httpClient = openHttpClient(settings);
  const nowMs = postgres.clock.nowMs();
  const message: AlertMessage = {
    type: 'test',
    ...{ id: uuidv7(), alertId: uuidv7(), startedAt: new Date(nowMs).toISOString() },
    item: { kind: 'alerts_failing', severity: 'warning', detail: 'This is a test. Nothing needs attention.' },
  };
  try {
    const of = { channel, secrets: (await channelSecrets(secrets))(channel), sender: senderOf(settings) };
    const verdict = await sendMessage({ httpClient, smtp: settings.smtp }, of, message, nowMs);
    return { id, ok: verdict?.accepted === true, ...(verdict?.accepted === false && { reason: verdict.reason }) };
  } finally {
    await httpClient.close();
  }
}

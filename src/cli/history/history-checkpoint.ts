import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Checkpoint, readCheckpoint } from '../../checkpoints/checkpoint.js';
import { rotateKey } from '../../checkpoints/rotate-key.js';
import { exportSeals } from '../../history/seal-export.js';
import type { Trust } from '../../history/verify.js';
import { usesKafka } from '../../kafka/kafka-settings.js';
import { messageOf, UserError } from '../../kernel/errors.js';
import { findTokens } from '../../kernel/jws.js';
import type { Settings } from '../../kernel/settings/settings.js';
import { CLI_ACTOR } from '../cli-actor.js';
import { progressBar } from '../output/output.js';
import { card } from '../output/table.js';
import type { Session } from '../session.js';
import { subcommand } from '../subcommand.js';

const PEM = /-----BEGIN PUBLIC KEY-----[\s\w+/=]+?-----END PUBLIC KEY-----/g;

export function addCheckpoint(history: Command, session: Session): void {
  const { output } = session;

  subcommand(
    history,
    'checkpoint',
    'Sign the head of the log now, and show the public key. Keep the output elsewhere',
    'history checkpoint > checkpoint.txt',
  ).action(async ({ json }: { json?: true }) => {
    const { checkpoints, signingKeys } = await session.open();
    const stored = await checkpoints.current();
    if (!stored) throw new UserError('The log has no sealed event yet. Add a site or send a conversion first.');
    const { publicKey } = await signingKeys.active();
    const { cell, position, head, time, key } = readCheckpoint(stored.token) as Checkpoint;
    const details = { cell, position, head, time, key };
    await output.show(
      json,
      { checkpoint: stored.token, ...details, publicKey },
      () => `${card(details)}\n${stored.token}\n\n${publicKey}`,
    );
  });

  subcommand(
    history,
    'rotate-key',
    'Replace the key that signs checkpoints; the old key signs the new one',
    'history rotate-key',
  ).action(async ({ json }: { json?: true }) => {
    const { log, signingKeys } = await session.open();
    const { id, publicKey } = await rotateKey(signingKeys, log, CLI_ACTOR);
    await output.show(
      json,
      { key: id, publicKey },
      () => `Checkpoints are signed by ${id} from now on.\n\n${publicKey}`,
    );
  });
}

export function addSeals(history: Command, session: Session): void {
  subcommand(
    history,
    'seals',
    'Print the seals of the log and the digests they cover, one JSON object per line',
    'history seals > seals.ndjson',
  ).action(async () => {
    const { postgres, log } = await session.open();
    const client = await postgres.connect('seals');
    try {
      const head = await log.head();
      await exportSeals(client, head, async (text, position) => {
        session.throwIfStopped('Interrupted: the seals are incomplete. Run the command again.');
        await session.output.print(text);
        session.output.progress(`${progressBar(position / head)}  seals`);
      });
    } finally {
      await client.end();
    }
  });
}

/** `against`: a file, or the name of a topic. Both may contain other text besides checkpoints and keys. */
export async function readTrust(
  settings: Settings,
  { against, publicKey }: { readonly against?: string | undefined; readonly publicKey?: string | undefined },
): Promise<Trust> {
  return {
    ...(against !== undefined && { against: { name: against, tokens: await readTokens(settings, against) } }),
    ...(publicKey !== undefined && { publicKeys: readPublicKeys(publicKey) }),
  };
}

async function readTokens(settings: Settings, against: string): Promise<string[]> {
  if (existsSync(against)) return findTokens(readText(against));
  if (!usesKafka(settings))
    throw new UserError(
      `${against} does not exist. Give a file that contains checkpoints; for a topic, set KAFKA_BROKERS.`,
    );
  const { readCheckpointTopic } = await import('../../checkpoints/checkpoint-topic.js');
  return readCheckpointTopic(settings, against);
}

function readPublicKeys(file: string): string[] {
  // In the output of "history checkpoint --json" line breaks are escaped.
  const keys = readText(file).replaceAll('\\n', '\n').match(PEM);
  if (!keys) throw new UserError(`${file} contains no public key. "history checkpoint" prints it.`);
  return keys;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${messageOf(error)}.`);
  }
}

import { type Checkpoint, readCheckpoint } from '../../checkpoints/checkpoint.js';
import { readStoredCheckpoints } from '../../checkpoints/checkpoints.js';
import { readPublicKeys } from '../../checkpoints/signing-keys.js';
import { type KeyRotation, TrustedKeys } from '../../checkpoints/trusted-keys.js';
import { KEY_STREAM, LOG } from '../../events/log.events.js';
import { isSignedBy } from '../../kernel/jws.js';
import { readHeadsAt } from '../../log/chain-audit.js';
import type { EventLog } from '../../log/event-log.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

export interface CheckpointOptions {
  /** Checkpoints kept elsewhere, and what to call the place. */
  readonly against?: { readonly name: string; readonly tokens: readonly string[] };
  /** Trusted public keys in PEM. Without them, the first key of this database. */
  readonly publicKeys?: readonly string[];
}

/** The chain has the head that each signed checkpoint states: nothing up to a checkpoint was changed after it was signed. */
export function checkpointsCheck({ against, publicKeys }: CheckpointOptions = {}): Check {
  return {
    name: 'checkpoints',
    async examine({ postgres, log, settings, until }) {
      const { pool } = postgres;
      const violations = new Violations();
      const keys = new TrustedKeys(publicKeys ?? (await readPublicKeys(pool)).slice(0, 1), await readRotations(log));
      for (const violation of keys.violations) violations.add(violation);

      const stored = (await readStoredCheckpoints(pool)).map(({ token }) => ({ token, from: 'this database' }));
      const kept = (against?.tokens ?? []).map((token) => ({ token, from: against?.name as string }));
      let unverified = 0;
      let others = 0;
      const signed: (Checkpoint & { from: string })[] = [];
      for (const { token, from } of [...stored, ...kept]) {
        const checkpoint = readCheckpoint(token);
        if (!checkpoint) violations.add(`${from} contains a signed text that is not a checkpoint`);
        // A topic or a file may hold the checkpoints of several installations.
        else if (checkpoint.cell !== settings.cell) others += 1;
        else {
          const key = keys.get(checkpoint.key);
          const what = `the checkpoint at position ${checkpoint.position} from ${from}`;
          if (key && isSignedBy(token, key)) signed.push({ ...checkpoint, from });
          else if (key) violations.add(`${what} does not have a valid signature`);
          else if (keys.isEarlier(checkpoint.key)) unverified += 1;
          else violations.add(`${what} is signed by ${checkpoint.key}, which is not a trusted key`);
        }
      }

      const heads = await readHeadsAt(
        pool,
        signed.map(({ position }) => position),
      );
      for (const { position, head, time, from } of signed) {
        const what = `the checkpoint of ${time} from ${from}`;
        const found = heads.get(position);
        if (found === undefined)
          violations.add(
            `${what} covers position ${position}, where the log has no seal: events were removed, or an older backup was restored`,
          );
        else if (found !== head)
          violations.add(
            `${what} has another head at position ${position} than the log: an event up to there was changed`,
          );
      }

      if (against && kept.length === 0) violations.add(`${against.name} contains no checkpoint`);
      const newest = signed.reduce((last, { position }) => Math.max(last, position), 0);
      return violations.findingOfLog(
        [
          signed.length === 0
            ? 'there is no checkpoint yet'
            : `${signed.length} checkpoints${against ? `, ${kept.length} of them from ${against.name},` : ''} match the chain up to position ${newest}`,
          ...(newest < until ? [`events after position ${newest} are covered by no checkpoint`] : []),
          ...(unverified > 0 ? [`${unverified} were signed by keys before the given one and not verified`] : []),
          ...(others > 0 ? [`${others} are of other cells`] : []),
          ...(publicKeys ? [] : ['the public key is that of this database: give one kept elsewhere with --public-key']),
        ].join('; '),
      );
    },
  };
}

async function readRotations(log: EventLog): Promise<KeyRotation[]> {
  const events = await log.readStream(LOG, KEY_STREAM);
  return events.flatMap(({ position, type, data }) => (type === 'log.key_rotated.v1' ? [{ ...data, position }] : []));
}

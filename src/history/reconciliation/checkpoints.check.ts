import { type Checkpoint, readCheckpoint } from '../../checkpoints/checkpoint.js';
import { readStoredCheckpoints } from '../../checkpoints/checkpoints.js';
import { hasSettledKey, readFirstKey } from '../../checkpoints/signing-keys.js';
import { type KeyRotation, TrustedKeys } from '../../checkpoints/trusted-keys.js';
import { KEY_STREAM, LOG } from '../../events/log.events.js';
import { counted } from '../../kernel/counted.js';
import { isSignedBy } from '../../kernel/jws.js';
import { readChainHead, readHeadsAt } from '../../log/audit/chain-audit.js';
import type { EventLog } from '../../log/event-log.js';
import type { Check } from '../verify.js';
import { Violations } from './violations.js';

interface FoundCheckpoint {
  readonly token: string;
  readonly from: string;
  /** Where it is stored; undefined outside the database. */
  readonly storedAt?: number;
}

/** The chain has the head that each signed checkpoint states: nothing up to a checkpoint was changed after it was signed. */
export const checkpointsCheck: Check = {
  name: 'checkpoints',
  async examine({ postgres: { pool }, log, settings, until, trust: { against, publicKeys } }) {
    const violations = new Violations();
    const keys = new TrustedKeys(publicKeys ?? (await readFirstKey(pool)), await readRotations(log));
    for (const violation of keys.violations) violations.add(violation);

    const signatures = new SignatureCheck(keys, settings.cell, violations);
    const stored = (await readStoredCheckpoints(pool)).map(({ position, token }) => ({ token, storedAt: position }));
    for (const found of stored) signatures.add({ ...found, from: 'this database' });
    const { length: ofDatabase } = signatures.signed;
    const lacksCheckpoint = stored.length === 0 && (await hasSettledKey(pool));
    if (lacksCheckpoint && (await readChainHead(pool)))
      violations.add(
        'this database has a signing key and no checkpoint: if "history checkpoint" was not interrupted, its checkpoints were deleted',
      );
    if (against) for (const token of against.tokens) signatures.add({ token, from: against.name });
    const { signed } = signatures;

    const heads = await readHeadsAt(
      pool,
      signed.map(({ position }) => position),
    );
    for (const checkpoint of signed) {
      const difference = differenceFrom(heads.get(checkpoint.position), checkpoint);
      if (difference) violations.add(`the checkpoint of ${checkpoint.time} from ${checkpoint.from} ${difference}`);
    }
    const kept = signed.length - ofDatabase;
    if (against && against.tokens.length === signatures.ofOtherCells)
      violations.add(`${against.name} contains no checkpoint of the cell ${settings.cell}`);

    const newest = Math.max(0, ...signed.map(({ position }) => position));
    // Which key came before which is stated by the log alone, so it must not take away what was kept elsewhere.
    for (const { position, from } of signatures.ofEarlierKeys)
      if (from === against?.name && position > newest)
        violations.add(
          `the checkpoint at position ${position} from ${from} is signed by a key before the given one, and no verified checkpoint covers it: give the key that signed it`,
        );
    const compared = [
      signed.length === 0
        ? 'there is no checkpoint yet'
        : `compared with ${counted(ofDatabase, 'checkpoint')} of this database${against ? ` and ${kept} from ${against.name}` : ''}, the newest at position ${newest}`,
      ...(newest < until ? ['what follows it is covered by no checkpoint'] : []),
      ...signatures.notes(),
      ...(publicKeys ? [] : ['the public key is that of this database: give one kept elsewhere with --public-key']),
    ];
    return violations.findingOfLog(compared.join('; '));
  },
};

class SignatureCheck {
  readonly signed: (Checkpoint & { readonly from: string })[] = [];
  readonly ofEarlierKeys: (Checkpoint & { readonly from: string })[] = [];
  ofOtherCells = 0;

  constructor(
    private readonly keys: TrustedKeys,
    private readonly cell: string,
    private readonly violations: Violations,
  ) {}

  add({ token, from, storedAt }: FoundCheckpoint): void {
    const checkpoint = readCheckpoint(token);
    if (!checkpoint) {
      this.violations.add(`${from} contains a token that is not a checkpoint`);
      return;
    }
    // A topic or a file may hold the checkpoints of several installations.
    if (checkpoint.cell !== this.cell) {
      this.ofOtherCells += 1;
      return;
    }
    const key = this.keys.get(checkpoint.key);
    const what = `the checkpoint at position ${checkpoint.position} from ${from}`;
    if (!key && this.keys.isEarlier(checkpoint.key)) this.ofEarlierKeys.push({ ...checkpoint, from });
    else if (!key) this.violations.add(`${what} is signed by ${checkpoint.key}, which is not a trusted key`);
    else if (!isSignedBy(token, key)) this.violations.add(`${what} does not have a valid signature`);
    else if (storedAt !== undefined && storedAt !== checkpoint.position)
      this.violations.add(`${what} is stored in the place of the one at position ${storedAt}`);
    else this.signed.push({ ...checkpoint, from });
  }

  notes(): string[] {
    return [
      ...(this.ofEarlierKeys.length > 0
        ? [`${this.ofEarlierKeys.length} were not verified: they were signed by keys before the given one`]
        : []),
      ...(this.ofOtherCells > 0 ? [`${this.ofOtherCells} are of other cells`] : []),
    ];
  }
}

function differenceFrom(found: string | undefined, { position, head }: Checkpoint): string | undefined {
  if (found === undefined)
    return `covers position ${position}, where the log has no seal: events were removed, or an older backup was restored`;
  if (found !== head) return `has another head at position ${position} than the log: an event up to there was changed`;
  return undefined;
}

async function readRotations(log: EventLog): Promise<KeyRotation[]> {
  const events = await log.readStream(LOG, KEY_STREAM);
  return events.flatMap(({ position, type, data }) => (type === 'log.key_rotated.v1' ? [{ ...data, position }] : []));
}

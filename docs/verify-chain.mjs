// Recomputes the hash chain of Clean Conversions from exported files, and compares it with checkpoints. Requires Node.js and
// nothing else of this project; docs/audit.md defines the format.
//
//   node docs/verify-chain.mjs events.ndjson seals.ndjson [file with checkpoints and the public key]
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [eventsFile, sealsFile, checkpointFile] = process.argv.slice(2);
const read = (file) => readFileSync(file, 'utf8');
const objects = (file) =>
  read(file)
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
const sized = (text) => `${Buffer.byteLength(text)}:${text}`;

const violations = [];
const events = new Map(objects(eventsFile).map((event) => [event.position, event]));
/** The seals are exported after the events, and may cover later ones. */
const lastExported = [...events.keys()].reduce((last, position) => Math.max(last, position), 0);

/** The canonical form of an event, except for what the export does not contain: its reference and its personal digest. */
function canonicalForm(event, { reference, personal }) {
  const dash = event.stream.indexOf('-');
  const fields = [
    event.position,
    event.id,
    sized(event.stream.slice(0, dash)),
    event.stream.slice(dash + 1),
    event.version,
    sized(event.type),
    sized(event.site),
    Date.parse(event.time),
    sized(event.actor),
    reference === undefined ? '' : sized(reference),
    sized(JSON.stringify(event.data)),
    personal ?? '',
  ];
  return fields.map((field) => `${field}\n`).join('');
}

/** Exports omit some data of a few events, so that their digests cannot be recomputed: they are taken from the seals, which say so. */
const isRedacted = (event, { redacted }) =>
  event.type === 'site.key_issued.v1' || (redacted && REDACTABLE.test(event.type));
const REDACTABLE =
  /^(conversion\.(delivered|accepted|confirmed|rejected|skipped|deferred|failed|validated|send_requested)|site\.settings_changed)\.v1$/;

let head = Buffer.alloc(32);
const heads = new Map();
let recomputed = 0;
let taken = 0;
let start;
const covered = new Set();
for (const seal of objects(sealsFile)) {
  start ??= seal.first;
  const digests = seal.events.map((sealed) => {
    const event = events.get(sealed.position);
    covered.add(sealed.position);
    if (event && sealed.removed) violations.push(`position ${sealed.position} was removed and is in ${eventsFile}`);
    if (!event && !sealed.removed && sealed.position <= lastExported)
      violations.push(`position ${sealed.position} is missing in ${eventsFile}`);
    if (!event || isRedacted(event, sealed)) {
      taken += 1;
      return Buffer.from(sealed.digest, 'hex');
    }
    recomputed += 1;
    return sha256(canonicalForm(event, sealed));
  });
  // A batch without events was removed by retention: its digest is taken as it is.
  const digest = digests.length === 0 ? Buffer.from(seal.digest, 'hex') : sha256(...digests);
  if (digest.toString('hex') !== seal.digest)
    violations.push(`positions ${seal.first} to ${seal.last} differ from their seal`);
  head = sha256(head, Buffer.from(seal.digest, 'hex'));
  if (head.toString('hex') !== seal.head) violations.push(`the head at position ${seal.last} does not follow`);
  head = Buffer.from(seal.head, 'hex');
  heads.set(seal.last, seal.head);
}
// Events from before the chain have no seal.
for (const position of events.keys())
  if (position >= start && !covered.has(position)) violations.push(`position ${position} has no seal`);
console.log(
  `${recomputed} events in ${heads.size} batches were recomputed; the digests of ${taken} were taken from ${sealsFile}`,
);

if (checkpointFile) {
  const text = read(checkpointFile);
  const publicKey = createPublicKey(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/.exec(text)[0]);
  for (const token of text.match(/\beyJ[\w-]*\.eyJ[\w-]*\.[\w-]{86}/g) ?? []) {
    const [header, payload, signature] = token.split('.');
    const { position, head: signed, time } = JSON.parse(Buffer.from(payload, 'base64url'));
    const isValid = verify(null, Buffer.from(`${header}.${payload}`), publicKey, Buffer.from(signature, 'base64url'));
    if (!isValid) violations.push(`the checkpoint at position ${position} has no valid signature`);
    else if (heads.get(position) !== signed)
      violations.push(`the checkpoint of ${time} at position ${position} does not match`);
    else console.log(`the checkpoint of ${time} matches at position ${position}`);
  }
}

for (const violation of violations) console.log(`VIOLATION: ${violation}`);
process.exit(violations.length > 0 ? 1 : 0);

import type { Command } from 'commander';
import { allProjections } from '../app/projections.js';
import { isEmail, normaliseEmail, subjectOf } from '../kernel/email.js';
import { UserError } from '../kernel/errors.js';
import { EraseSubject, RerunErasures } from '../visitors/erase-subject.command.js';
import { EraseSubjectHandler, RerunErasuresHandler } from '../visitors/erase-subject.handler.js';
import { Erasure } from '../visitors/erasure.js';
import { ErasureList } from '../visitors/erasure-list.js';
import { showVisitor } from '../visitors/show-visitor.js';
import { card } from './output.js';
import type { Session } from './session.js';
import { commandGroup, verb, WrongUsage } from './verb.js';

interface Whom {
  readonly site?: string;
  readonly email?: string;
  readonly hash?: string;
}

export function addVisitors(program: Command, session: Session): void {
  const { output } = session;
  const visitors = commandGroup(program, 'visitors', 'What is known of the people behind conversions');

  verb(
    visitors,
    'show',
    'What visits have shown of a person',
    'visitors show --site shop.example --email jane@example.com',
  )
    .requiredOption('--site <host>', 'whose visitor')
    .option('--email <address>', 'of the person')
    .option('--hash <sha256>', 'of the normalised address, instead of it')
    .action(async ({ json, ...whom }: Whom & { json?: true }) => {
      const { sites, postgres } = await session.open();
      const { host } = await sites.get(whom.site as string);
      const record = await showVisitor(postgres.pool, host, subjectFrom(whom));
      if (!record)
        throw new UserError(`${host} knows nothing of this person. The tag has to see the email on one of its pages.`);
      await output.show(json, record, () => JSON.stringify(record, null, 2));
    });

  verb(
    visitors,
    'erase',
    'Forget a person: hashes, identifiers and visits. Events and totals stay.',
    'visitors erase --site shop.example --email jane@example.com',
  )
    .option('--site <host>', 'whose visitor')
    .option('--email <address>', 'of the person')
    .option('--hash <sha256>', 'of the normalised address, instead of it')
    .option('--rerun', 'everybody who was ever erased, once more: after a backup was put back')
    .action(async ({ json, rerun, ...whom }: Whom & { json?: true; rerun?: true }) => {
      if (!rerun && whom.site === undefined) throw new WrongUsage('Say whose visitor: --site <host>.');
      const opened = await session.open();
      const erasure = new Erasure(opened.postgres, opened.log, allProjections(opened.secrets));
      const list = new ErasureList(opened.settings.erasureList, opened.sealer);
      if (rerun) {
        const onProgress = (done: number, total: number) => output.progress(`Erasing ${done} of ${total}`);
        const erased = await new RerunErasuresHandler(erasure, list, onProgress).execute(new RerunErasures('cli'));
        return output.show(json, erased, () => card({ ...erased }));
      }
      const { host } = await opened.sites.get(whom.site as string);
      const command = new EraseSubject('cli', host, subjectFrom(whom));
      const erased = { site: host, ...(await new EraseSubjectHandler(erasure, list).execute(command)) };
      await output.show(json, erased, () => card({ ...erased }));
    });
}

function subjectFrom({ email, hash }: Whom): string {
  if ((email === undefined) === (hash === undefined)) throw new WrongUsage('Say who: --email or --hash, one of them.');
  if (hash !== undefined) {
    if (!/^[0-9a-f]{64}$/i.test(hash)) throw new UserError('--hash must be a SHA-256 hex digest of 64 characters.');
    return hash.toLowerCase();
  }
  const address = normaliseEmail(email as string);
  // The address itself is not repeated.
  if (!isEmail(address)) throw new UserError('--email is not an email address.');
  return subjectOf(address);
}

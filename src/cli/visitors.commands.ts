import { type Command, Option } from 'commander';
import { UserError } from '../kernel/errors.js';
import { findOtherCopies } from '../moves/departures.js';
import { StateConsent } from '../visitors/change-consent.command.js';
import { EraseSubject, RerunErasures } from '../visitors/erasure/erase-subject.command.js';
import { RerunErasuresHandler } from '../visitors/erasure/erase-subject.handler.js';
import { personSubject } from '../visitors/erasure/person-subject.js';
import { type ShownVisitor, showVisitor } from '../visitors/show-visitor.js';
import { CLI_ACTOR } from './cli-actor.js';
import { confirm, YES_HELP } from './confirmation.js';
import { card } from './output/table.js';
import type { Session } from './session.js';
import { commandGroup, subcommand, UsageError } from './subcommand.js';

interface PersonOptions {
  readonly site?: string;
  readonly email?: string;
  readonly hash?: string;
}

interface EraseOptions extends PersonOptions {
  readonly json?: true;
  readonly rerun?: true;
  readonly dryRun?: true;
  readonly yes?: true;
}

export function addVisitors(program: Command, session: Session): void {
  const { output } = session;
  const visitors = commandGroup(program, 'visitors', 'Show, change or erase what is stored about a person');

  subcommand(
    visitors,
    'show',
    'Show the identifier record of a person',
    'visitors show --site shop.example --email jane@example.com',
  )
    .requiredOption('--site <host>', 'site that the person visited')
    .option('--email <address>', 'email address of the person')
    .option('--hash <sha256>', 'hash of the normalised address, instead of --email')
    .action(async ({ json, ...person }: PersonOptions & { json?: true }) => {
      const { site, postgres, settings } = await session.openSite(person.site as string);
      const nowMs = postgres.clock.nowMs();
      const record = await showVisitor(postgres.pool, site, subjectFrom(person), nowMs, settings.identifierTtlMs);
      if (!record)
        throw new UserError(
          `${site.host} has no record of this person. A record is created when the tag captures the email on one of its pages.`,
        );
      await output.show(json, record, () => JSON.stringify(record, null, 2));
    });

  subcommand(
    visitors,
    'consent <person> <value>',
    'State the consent of a person (an email address or its hash): granted or denied. Replaces all earlier statements.',
    'visitors consent jane@example.com denied --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the person visited')
    .action(async (person: string, value: string, { json, site: host }: { json?: true; site: string }) => {
      if (value !== 'granted' && value !== 'denied') throw new UsageError('Give "granted" or "denied".');
      const { site, postgres, commands, settings } = await session.openSite(host);
      const subject = subjectFrom(person.includes('@') ? { email: person } : { hash: person });
      await commands.execute(new StateConsent(CLI_ACTOR, site.host, subject, value));
      const nowMs = postgres.clock.nowMs();
      const record = await showVisitor(postgres.pool, site, subject, nowMs, settings.identifierTtlMs);
      const { consent, statements } = record as ShownVisitor;
      await output.show(json, { site: site.host, subject, consent, statements }, () => card({ consent: value }));
    });

  subcommand(
    visitors,
    'erase',
    'Erase the personal data of a person: hashes, identifiers and visits. Events and totals stay.',
    'visitors erase --site shop.example --email jane@example.com',
  )
    .option('--site <host>', 'site that the person visited')
    .option('--email <address>', 'email address of the person')
    .option('--hash <sha256>', 'hash of the normalised address, instead of --email')
    .option('--dry-run', 'count what would be erased, and erase nothing')
    .addOption(new Option('--rerun', 'repeat all earlier erasures, after a backup was restored').conflicts('dryRun'))
    .option('--yes', YES_HELP)
    .action(async ({ json, rerun, dryRun, yes, ...person }: EraseOptions) => {
      if (!rerun && person.site === undefined) throw new UsageError('Give the site with --site <host>.');
      const { postgres, sites, settings, commands, erasure, erasureList } = await session.open();
      if (rerun) {
        const onProgress = (done: number, total: number) => output.progress(`Erasing ${done} of ${total}`);
        const erased = await new RerunErasuresHandler(erasure, erasureList, onProgress).execute(
          new RerunErasures(CLI_ACTOR),
        );
        return output.show(json, erased, () => card({ ...erased }));
      }
      const { host } = await sites.get(person.site as string);
      const subject = subjectFrom(person);
      const question = `Erase what is stored about this person at ${host}?`;
      if (!dryRun) await confirm(session, { yes, json }, question, 'go on');
      const counts = dryRun
        ? await erasure.preview(host, subject)
        : await commands.execute(new EraseSubject(CLI_ACTOR, host, subject));
      const others = await findOtherCopies(postgres.pool, host, settings.cell);
      const alsoIn = others.filter(({ isCarried }) => !isCarried).map(({ cell }) => cell);
      const erased = { site: host, ...(dryRun && { dryRun }), ...counts };
      await output.show(json, { ...erased, ...(alsoIn.length > 0 && { alsoIn }) }, () => card({ ...erased }));
      if (json) return;
      for (const { cell, isCarried } of others)
        output.note(
          isCarried
            ? `The move of ${host} to cell ${cell} erases the person there, too: run "sites move" to its end.`
            : `Cell ${cell} has a copy of ${host} from a move. Run the same command there.`,
        );
    });
}

function subjectFrom({ email, hash }: PersonOptions): string {
  if (email !== undefined && hash === undefined) return personSubject({ email });
  if (email === undefined && hash !== undefined) return personSubject({ hash });
  throw new UsageError('Give either --email or --hash.');
}

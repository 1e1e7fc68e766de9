import { type Command, Option } from 'commander';
import {
  findPeople,
  type NamedBy,
  type NamingSite,
  PERSON_NAMES,
  refuseUnlooked,
  subjectsOf,
} from '../conversions/named-person.js';
import { UserError } from '../kernel/errors.js';
import { findOtherCopies } from '../moves/departures.js';
import type { Site } from '../sites/site.js';
import { StateConsent } from '../visitors/change-consent.command.js';
import { EraseSubject, RerunErasures } from '../visitors/erasure/erase-subject.command.js';
import { RerunErasuresHandler } from '../visitors/erasure/erase-subject.handler.js';
import { type ShownVisitor, showVisitor } from '../visitors/show-visitor.js';
import { CLI_ACTOR } from './cli-actor.js';
import { confirm, YES_HELP } from './confirmation.js';
import { card } from './output/table.js';
import type { CliDependencies, Session } from './session.js';
import { commandGroup, subcommand, UsageError } from './subcommand.js';

interface PersonOptions extends NamedBy {
  readonly site?: string;
}

interface EraseOptions extends PersonOptions {
  readonly json?: true;
  readonly rerun?: true;
  readonly dryRun?: true;
  readonly yes?: true;
}

interface ConsentOptions extends PersonOptions {
  readonly site: string;
  readonly json?: true;
}

const EMAIL = new Option('--email <address>', 'email address of the person');
const HASH = new Option('--hash <sha256>', 'hash of the normalised address, instead of --email');
const PHONE = new Option('--phone <number>', 'phone number of the person');
const EXTERNAL_ID = new Option('--external-id <id>', "the sender's id of the person");
const CLICK_ID = new Option('--click-id <id>', 'id of a click of the person');

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
    .addOption(EMAIL)
    .addOption(HASH)
    .addOption(PHONE)
    .addOption(EXTERNAL_ID)
    .addOption(CLICK_ID)
    .action(async ({ json, ...person }: PersonOptions & { json?: true }) => {
      const named = namedBy(person);
      const { site, postgres, settings, secrets } = await session.openSite(person.site as string);
      const nowMs = postgres.clock.nowMs();
      const people = await findPeople(postgres.pool, named, await namingSite(site, secrets));
      const record = await showVisitor(postgres.pool, site, people, nowMs, settings.identifierTtlMs);
      if (!record)
        throw new UserError(
          `${site.host} has no record of this person. A record is created when the tag captures the email on one of its pages, or a click id where the site knows people by them.`,
        );
      await output.show(json, record, () => JSON.stringify(record, null, 2));
    });

  subcommand(
    visitors,
    'consent <person> [value]',
    'State the consent of a person (an email address or its hash): granted or denied. With an option that names the person, give the value alone. Replaces all earlier statements.',
    'visitors consent jane@example.com denied --site shop.example',
  )
    .requiredOption('--site <host>', 'site that the person visited')
    .addOption(PHONE)
    .addOption(EXTERNAL_ID)
    .addOption(CLICK_ID)
    .action(async (first: string, second: string | undefined, { json, ...options }: ConsentOptions) => {
      const value = second ?? first;
      const person = second === undefined ? {} : first.includes('@') ? { email: first } : { hash: first };
      if (value !== 'granted' && value !== 'denied') throw new UsageError('Give "granted" or "denied".');
      const named = namedBy({ ...options, ...person });
      const { site, postgres, commands, settings, secrets } = await session.openSite(options.site);
      refuseUnlooked(named, site);
      const subjects = subjectsOf(named, await namingSite(site, secrets));
      for (const subject of subjects) await commands.execute(new StateConsent(CLI_ACTOR, site.host, subject, value));
      const nowMs = postgres.clock.nowMs();
      const record = await showVisitor(postgres.pool, site, subjects, nowMs, settings.identifierTtlMs);
      const { subject, consent, statements } = record as ShownVisitor;
      const stated = { site: site.host, ...(subject !== undefined && { subject }), consent, statements };
      await output.show(json, stated, () => card({ consent: value }));
    });

  subcommand(
    visitors,
    'erase',
    'Erase the personal data of a person: hashes, identifiers and visits. Events and totals stay.',
    'visitors erase --site shop.example --email jane@example.com',
  )
    .option('--site <host>', 'site that the person visited')
    .addOption(EMAIL)
    .addOption(HASH)
    .addOption(PHONE)
    .addOption(EXTERNAL_ID)
    .addOption(CLICK_ID)
    .option('--dry-run', 'count what would be erased, and erase nothing')
    .addOption(new Option('--rerun', 'repeat all earlier erasures, after a backup was restored').conflicts('dryRun'))
    .option('--yes', YES_HELP)
    .action(async ({ json, rerun, dryRun, yes, ...person }: EraseOptions) => {
      if (!rerun && person.site === undefined) throw new UsageError('Give the site with --site <host>.');
      const named = rerun ? {} : namedBy(person);
      const { postgres, sites, settings, commands, erasure, erasureList, secrets } = await session.open();
      if (rerun) {
        const onProgress = (done: number, total: number) => output.progress(`Erasing ${done} of ${total}`);
        const erased = await new RerunErasuresHandler(erasure, erasureList, onProgress).execute(
          new RerunErasures(CLI_ACTOR),
        );
        return output.show(json, erased, () => card({ ...erased }));
      }
      const site = await sites.get(person.site as string);
      const { host } = site;
      const people = await findPeople(postgres.pool, named, await namingSite(site, secrets));
      const [subject, ...linked] = people;
      const question = `Erase what is stored about this person at ${host}?`;
      if (!dryRun) await confirm(session, { yes, json }, question, 'go on');
      const counts = dryRun
        ? await erasure.preview(host, people)
        : await commands.execute(new EraseSubject(CLI_ACTOR, host, subject, undefined, linked));
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

/** The one option that names the person. */
function namedBy(options: PersonOptions): NamedBy {
  const [name, ...others] = PERSON_NAMES.filter((each) => options[each] !== undefined);
  if (name === undefined || others.length > 0)
    throw new UsageError('Name the person by one of --email, --hash, --phone, --external-id and --click-id.');
  return { [name]: options[name] };
}

async function namingSite(site: Site, secrets: CliDependencies['secrets']): Promise<NamingSite> {
  return { host: site.host, settings: site.settings, secret: await secrets.dedupSecret(site.host) };
}

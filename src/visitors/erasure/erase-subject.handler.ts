import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../../kernel/command.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import { type ErasedSubject, EraseSubject, RerunErasures } from './erase-subject.command.js';
import type { Erasure } from './erasure.js';
import type { ErasureList } from './erasure-list.js';

@CommandHandler(EraseSubject)
export class EraseSubjectHandler implements ICommandHandler<EraseSubject> {
  constructor(
    private readonly erasure: Erasure,
    private readonly list: ErasureList,
    private readonly secrets: Pick<SiteSecrets, 'recordKey'>,
  ) {}

  /**
   * Adds the person to the list first: an erasure that is not listed would be undone by a restore from a backup. Afterwards the list
   * gets the position of the erasure: what the person does later is not erased when it is repeated.
   */
  async execute({ actor, site, subject, after, others }: EraseSubject): Promise<ErasedSubject> {
    await this.secrets.recordKey();
    const subjects = [subject, ...others];
    for (const each of subjects) await this.list.add({ site, subject: each });
    const { position, ...erased } = await this.erasure.erase(actor, site, subject, undefined, after, others);
    for (const each of subjects) await this.list.add({ site, subject: each, position });
    return erased;
  }
}

@CommandHandler(RerunErasures)
export class RerunErasuresHandler implements ICommandHandler<RerunErasures> {
  constructor(
    private readonly erasure: Erasure,
    private readonly list: ErasureList,
    private readonly onProgress: (done: number, total: number) => void = () => {},
  ) {}

  async execute({ actor }: RerunErasures): Promise<{ people: number } & ErasedSubject> {
    const people = await this.list.read();
    const sum = { events: 0, identifiers: 0, claims: 0 };
    for (const [index, { site, subject, position }] of people.entries()) {
      const erased = await this.erasure.erase(actor, site, subject, position ?? 'restored');
      for (const name of ['events', 'identifiers', 'claims'] as const) sum[name] += erased[name];
      this.onProgress(index + 1, people.length);
    }
    return { people: people.length, ...sum };
  }
}

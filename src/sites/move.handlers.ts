import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { CancelMove, StartMove } from './move.commands.js';
import { beginPause, endPause } from './pause.js';
import type { Site } from './site.js';
import type { SiteRepository } from './site-repository.js';

@CommandHandler(StartMove)
export class StartMoveHandler implements ICommandHandler<StartMove> {
  constructor(private readonly sites: SiteRepository) {}

  execute({ host, actor, to, epoch }: StartMove): Promise<Site> {
    return this.sites.change(host, actor, (site) => {
      if (site.move?.state === 'leaving') {
        if (site.move.to === to && site.epoch === epoch) return undefined;
        throw new UserError(
          `Site ${host} is about to move to cell ${site.move.to}. Run that "sites move" again, or cancel it: "sites move ${host} --cancel".`,
        );
      }
      if (epoch !== site.epoch + 1)
        throw new UserError(
          `Site ${host} has moved in the meantime, or its move was cancelled. Run "sites show ${host}", then decide.`,
        );
      return {
        events: [{ type: 'site.move_started.v1', data: { to, epoch } }],
        change: (client) => beginPause(client, host),
      };
    });
  }
}

@CommandHandler(CancelMove)
export class CancelMoveHandler implements ICommandHandler<CancelMove> {
  constructor(private readonly sites: SiteRepository) {}

  execute({ host: name, actor, copying }: CancelMove): Promise<Site> {
    return this.sites.change(name, actor, ({ host, paused, move, epoch }) => {
      if (move?.state === 'leaving')
        return {
          events: [{ type: 'site.move_cancelled.v1', data: { to: move.to, epoch } }],
          change: (client) => (paused ? Promise.resolve() : endPause(client, host)),
        };
      if (move || copying?.epoch !== epoch + 1) return undefined;
      const { to } = copying;
      // The epoch is used up, so that a mover which wakes up later cannot start the move.
      const data = { to, epoch: copying.epoch };
      return [
        { type: 'site.move_started.v1', data },
        { type: 'site.move_cancelled.v1', data },
      ];
    });
  }
}

import type { Command } from 'commander';
import type { ProjectionRunner } from '../../log/projections/projection-runner.js';
import { progressBar } from '../output/output.js';
import type { Session } from '../session.js';
import { commandGroup, subcommand, UsageError } from '../subcommand.js';

export function addProjections(program: Command, session: Session): void {
  const { output } = session;
  const projections = commandGroup(program, 'projections', 'Inspect and rebuild the projections');

  subcommand(projections, 'status', 'Show position and lag of each projection', 'projections status').action(
    async ({ json }: { json?: true }) => showStatus((await session.open()).projections, json),
  );

  subcommand(
    projections,
    'rebuild [name]',
    'Rebuild one projection, or all of them, from the whole log while the service runs',
    'projections rebuild sites',
  )
    .option('--all', 'rebuild all projections')
    .action(async (name: string | undefined, { all, json }: { all?: true; json?: true }) => {
      if ((name === undefined) === (all === undefined)) {
        throw new UsageError('Name one projection, or give --all. "projections status" lists them.');
      }
      const { projections } = await session.open();
      for (const one of name === undefined ? projections.names() : [name]) {
        await projections.rebuild(one, (position, head) => {
          if (position < head)
            session.throwIfStopped(
              `Interrupted: ${one} is unchanged. Run "projections rebuild ${one}" to start again.`,
            );
          output.progress(`${progressBar(head === 0 ? 1 : Math.min(1, position / head))}  ${one}`);
        });
        output.note(`Rebuilt ${one}.`);
      }
      await showStatus(projections, json);
    });

  async function showStatus(runner: ProjectionRunner, json: boolean | undefined): Promise<void> {
    const list = await runner.status();
    await output.showTable(json, list, {
      NAME: (one) => one.name,
      STATE: (one) => one.state,
      POSITION: (one) => one.position,
      HEAD: (one) => one.head,
      LAG: (one) => one.lag,
      REASON: (one) => one.reason ?? '',
    });
  }
}

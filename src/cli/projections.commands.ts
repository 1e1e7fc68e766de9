import type { Command } from 'commander';
import { UserError } from '../kernel/errors.js';
import type { ProjectionRunner } from '../log/projection-runner.js';
import { table } from './output.js';
import type { Session } from './session.js';
import { commandGroup, verb, WrongUsage } from './verb.js';

export function addProjections(program: Command, session: Session): void {
  const { output } = session;
  const projections = commandGroup(program, 'projections', 'The read models that are folded from the log');

  verb(projections, 'status', 'How far each one has come', 'projections status').action(
    async ({ json }: { json?: true }) => showStatus((await session.open()).projections, json),
  );

  verb(
    projections,
    'rebuild [name]',
    'Fold one, or all of them, anew from the whole log. The service goes on meanwhile.',
    'projections rebuild sites',
  )
    .option('--all', 'all of them')
    .action(async (name: string | undefined, { all, json }: { all?: true; json?: true }) => {
      if ((name === undefined) === (all === undefined)) {
        throw new WrongUsage('Name one projection, or say --all. "projections status" shows which there are.');
      }
      const { projections } = await session.open();
      for (const one of name === undefined ? projections.names() : [name]) {
        await projections.rebuild(one, (position, head) => {
          if (session.stop.aborted && position < head) {
            throw new UserError(`Interrupted: ${one} is as it was. Run "projections rebuild ${one}" to begin again.`);
          }
          output.progress(`${one}: ${head === 0 ? 100 : Math.floor((100 * position) / head)} %`);
        });
        output.note(`Rebuilt ${one}.`);
      }
      await showStatus(projections, json);
    });

  async function showStatus(runner: ProjectionRunner, json: boolean | undefined): Promise<void> {
    const list = await runner.status();
    await output.show(json, list, () => {
      return table(list, {
        NAME: (one) => one.name,
        STATE: (one) => one.state,
        POSITION: (one) => one.position,
        HEAD: (one) => one.head,
        LAG: (one) => one.lag,
        REASON: (one) => one.reason ?? '',
      });
    });
  }
}

import type { Command } from 'commander';
import { addRejudge } from './history-rejudge.js';
import type { Session } from './session.js';
import { noun } from './verb.js';

export function addHistory(program: Command, session: Session): void {
  const history = noun(program, 'history', 'Check the whole log, and try other rules on it');
  addRejudge(history, session);
}

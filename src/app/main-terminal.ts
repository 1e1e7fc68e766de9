import { fstatSync, type Stats, statSync } from 'node:fs';

/**
 * Whether standard output is the terminal of process 1, as in a container with a terminal (`docker run -t`): what is written there is
 * collected as the log of the container. A terminal that was opened in a container later, or on a machine, is another one.
 */
export function isContainerTerminal(
  read: { own(): Stats; first(): Stats } = { own: () => fstatSync(1), first: () => statSync('/proc/1/fd/1') },
): boolean {
  try {
    const [own, first] = [read.own(), read.first()];
    return own.dev === first.dev && own.ino === first.ino;
  } catch {
    // Without /proc, or without access to a process of another user: not the same container.
    return false;
  }
}

/** Whether a person reads standard output, and no one collects it as a log. */
export function isPersonsTerminal(): boolean {
  return process.stdout.isTTY === true && !isContainerTerminal();
}

import { open } from 'node:fs/promises';
import { withSpace } from './disk-space.js';

describe('withSpace', () => {
  // The device of Linux that has no space left.
  const write = async () => {
    const file = await open('/dev/full', 'w');
    await file.write('text').finally(() => file.close());
  };

  it('names a full disk and what to do', async () => {
    await expect(withSpace('No space is left for march.csv', 'run the command again', write)).rejects.toThrow(
      'No space is left for march.csv (ENOSPC). Free some space, then run the command again.',
    );
  });

  it('keeps other errors', async () => {
    await expect(withSpace('No space is left', 'run it again', () => open('/none/file', 'r'))).rejects.toThrow(
      'ENOENT',
    );
  });
});

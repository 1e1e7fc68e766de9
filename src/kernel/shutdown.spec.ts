import { Shutdown } from './shutdown.js';

describe('what runs beside the application', () => {
  it('is stopped when the shutdown begins', async () => {
    const shutdown = new Shutdown(10_000);
    const stopped: string[] = [];
    shutdown.accompany(async () => void stopped.push('one'));
    expect(stopped).toEqual([]);
    shutdown.begin();
    await shutdown.companionsStopped();
    expect(stopped).toEqual(['one']);
  });

  it('is stopped at once if it is added after the shutdown began', async () => {
    const shutdown = new Shutdown(10_000);
    const stopped: string[] = [];
    shutdown.begin();
    shutdown.accompany(async () => void stopped.push('late'));
    await shutdown.companionsStopped();
    expect(stopped).toEqual(['late']);
  });
});

import { hasSomethingToSend, isActive, isDryRun, jobOutcome, jobTitle, jobTone } from './job-view.js';

describe('a job on the page', () => {
  it('is named after what it does', () => {
    expect(jobTitle({ kind: 'export', request: { format: 'csv' } })).toBe('Export as csv');
    const table = { table: 'conversions', format: 'csv' };
    expect(jobTitle({ kind: 'export', request: table })).toBe('Export of conversions as csv');
    expect(jobTitle({ kind: 'shadow', request: {} })).toBe('Shadow replay');
    expect(jobTitle({ kind: 'replay', request: { platform: 'meta', dryRun: true } })).toBe(
      'Dry run of a replay to Meta',
    );
    expect(jobTitle({ kind: 'replay', request: { platform: 'meta', dryRun: false } })).toBe('Replay to Meta');
    expect(isDryRun({ kind: 'replay', request: { dryRun: false } })).toBe(false);
  });

  it('is active until it ends', () => {
    expect(
      (['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const).map((state) => isActive({ state })),
    ).toEqual([true, true, false, false, false]);
    expect(jobTone({ state: 'failed' })).toBe('bad');
  });

  it('offers to send only what a dry run found', () => {
    const job = { kind: 'replay', state: 'succeeded', request: { dryRun: true } } as const;
    expect(hasSomethingToSend({ ...job, result: { requested: 2, byStatus: {}, dryRun: true } })).toBe(true);
    expect(hasSomethingToSend({ ...job, result: { requested: 0, byStatus: {}, dryRun: true } })).toBe(false);
    expect(hasSomethingToSend({ ...job, state: 'running' })).toBe(false);
  });

  it('says why it failed, what it found or how far it is', () => {
    expect(jobOutcome({ reason: 'No.', result: { sent: 1 } })).toBe('No.');
    expect(jobOutcome({ result: { sent: 1 } })).toBe('sent: 1');
    expect(jobOutcome({ result: { format: 'csv', events: 293 } })).toBe('293 events');
    expect(jobOutcome({ result: { format: 'csv', conversions: 1 } })).toBe('1 conversion');
    const dryRun = { requested: 2, byStatus: { failed: 2, queued: 40 }, dryRun: true };
    expect(jobOutcome({ result: dryRun })).toBe('2 deliveries would be sent, of 2 failed, 40 queued');
    expect(jobOutcome({ result: { ...dryRun, requested: 1, dryRun: false } })).toMatch(/^1 delivery sent again/);
    expect(jobOutcome({ progress: { done: 0.5, position: 1, items: 7, perSecond: 1 } })).toBe('7 so far');
    expect(jobOutcome({})).toBe('');
  });
});

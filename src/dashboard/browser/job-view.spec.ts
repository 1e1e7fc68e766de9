import { isActive, isDryRun, jobOutcome, jobTitle, jobTone } from './job-view.js';

describe('a job on the page', () => {
  it('is named after what it does', () => {
    expect(jobTitle({ kind: 'export', request: { format: 'csv' } })).toBe('Export as csv');
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

  it('says why it failed, what it found or how far it is', () => {
    expect(jobOutcome({ reason: 'No.', result: { sent: 1 } })).toBe('No.');
    expect(jobOutcome({ result: { sent: 1 } })).toBe('sent: 1');
    expect(jobOutcome({ progress: { done: 0.5, position: 1, items: 7, perSecond: 1 } })).toBe('7 so far');
    expect(jobOutcome({})).toBe('');
  });
});

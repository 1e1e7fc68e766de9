import { allProjections } from '../../../app/projections.js';
import {
  orderedProjections,
  projectionDetail,
  projectionPurpose,
  projectionState,
  projectionsText,
} from './projection-view.js';

const RUNNING = { name: 'sites', state: 'running' as const, position: 100, head: 100, lag: 0 };
const PARKED = {
  ...RUNNING,
  name: 'totals',
  state: 'parked' as const,
  reason: 'event 1 at position 7 (a.v1): no field',
};
const REBUILDING = { ...RUNNING, name: 'dedup', state: 'rebuilding' as const, rebuild: { position: 25 } };

describe('a projection on the page', () => {
  it('says what it is read for, whichever it is', () => {
    const names = allProjections(undefined as never).map(({ name }) => name);
    expect(names.filter((name) => projectionPurpose(name) === undefined)).toEqual([]);
  });

  it('is behind when more events wait than arrive between two rounds', () => {
    expect(projectionState(RUNNING)).toEqual(['ok', 'running']);
    expect(projectionState({ ...RUNNING, lag: 5_000 })).toEqual(['warn', 'behind']);
    expect(projectionState({ ...PARKED, lag: 5_000 })).toEqual(['bad', 'parked']);
  });

  it('says at which event it stopped, how far a rebuild is, and why one ended, with what to do', () => {
    expect(projectionDetail(RUNNING)).toBe('');
    expect(projectionDetail(PARKED)).toMatch(/^It stopped at event 1 at position 7 .* then rebuild it\.$/);
    expect(projectionDetail(REBUILDING)).toMatch(/^25(?:\.0)?\s?% of the log$/);
    expect(projectionDetail({ ...RUNNING, state: 'rebuilding' })).toMatch(/^Started elsewhere/);
    expect(projectionDetail({ ...RUNNING, rebuild: { position: 3, error: 'The disk is full' } })).toBe(
      'The rebuild ended, and the rows are unchanged: The disk is full. Fix the cause, then rebuild it again.',
    );
  });

  it('comes first if it needs a person', () => {
    const failed = { ...RUNNING, name: 'unmatched', rebuild: { position: 3, error: 'no' } };
    const ordered = orderedProjections([RUNNING, REBUILDING, failed, PARKED]).map(({ name }) => name);
    expect(ordered).toEqual(['totals', 'unmatched', 'dedup', 'sites']);
    expect(projectionsText([RUNNING, PARKED])).toBe('1 is parked');
    expect(projectionsText([RUNNING])).toBe('none is parked');
  });
});

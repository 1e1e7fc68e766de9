import { readFileSync } from 'node:fs';
import { OUTCOME_WORDS, outcomeWord } from './outcome-words.js';
import { SYNC_STATUSES } from './sync-statuses.js';

const WORDS = OUTCOME_WORDS.map(([word]) => word) as readonly string[];

describe('outcomeWord', () => {
  it('has one of the words for every status of attempts, receipts and conversions', () => {
    for (const status of [...SYNC_STATUSES, 'queued', 'pending', 'filtered', 'deduplicated'])
      expect([status, WORDS.includes(outcomeWord(status))]).toEqual([status, true]);
  });

  it('says the same of what the platform refused at once and later', () => {
    expect([outcomeWord('failed', '100 Invalid parameter'), outcomeWord('rejected')]).toEqual(['refused', 'refused']);
  });

  it('does not blame the platform for what was decided here', () => {
    for (const reason of ['gave_up', 'disconnected', 'account_disconnected'])
      expect(outcomeWord('failed', reason)).toBe('not sent');
    expect(outcomeWord('skipped', 'event_not_mapped')).toBe('not sent');
  });

  it('keeps what it does not know', () => {
    expect([outcomeWord('received'), outcomeWord('constructor')]).toEqual(['received', 'constructor']);
  });

  it('has the words and meanings of the glossary', () => {
    const glossary = readFileSync('docs/glossary.md', 'utf8');
    const rows = glossary
      .slice(glossary.indexOf('| word | values |'))
      .matchAll(/^\| ([a-z ]+) \| `.*?` ?[^|]*\| ([^|]+) \|$/gm);
    expect([...rows].map(([, word, meaning]) => [word, meaning])).toEqual(OUTCOME_WORDS);
  });
});

import fc from 'fast-check';
import { readTagMessage } from './tag-message.js';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const UUID = '5f0c7c1e-8f0a-4a5e-9d3b-0c9a4b1d2e3f';
const read = (body: object) => readTagMessage({ v: 1, ...body }, NOW);

describe('readTagMessage', () => {
  it('reads every known field and drops the others', () => {
    const message = read({
      visitor: UUID.toUpperCase(),
      visit: UUID,
      statement: UUID,
      hash: 'A'.repeat(64),
      page: 'https://shop.example/a/b?gclid=1#x',
      referrer: 'https://www.google.com/',
      clicks: {
        gclid: { id: 'Cj0_K-c', t: NOW - 5, page: 'https://shop.example/?x=1' },
        unknown_field: { id: 'x', t: 1 },
      },
      first: { t: NOW - 10, page: 'https://shop.example/', utm: { source: 'News' } },
      utm: { source: 'Google', campaign: 'Spring Sale', unknown_field: 'x' },
      cookies: { _fbp: 'fb.1.2.3', session: 'secret' },
      consent: { ad_storage: 'granted' },
      signals: { webdriver: true, languages: 2, screen: [10.4, 20], automation: ['cdc', '<script>'], unknown_field: 1 },
    });
    expect(message).toEqual({
      visitor: UUID,
      visit: UUID,
      statement: UUID,
      subject: 'a'.repeat(64),
      page: 'https://shop.example/a/b',
      referrer: 'https://www.google.com/',
      clicks: { gclid: { id: 'Cj0_K-c', timeMs: NOW - 5, page: 'https://shop.example/' } },
      first: { timeMs: NOW - 10, page: 'https://shop.example/', referrer: undefined, utm: { source: 'News' } },
      utm: { source: 'Google', campaign: 'Spring Sale' },
      cookies: { _fbp: 'fb.1.2.3' },
      consent: { ad_storage: 'granted' },
      signals: { webdriver: true, languages: 2, screen: [10, 20], automation: ['cdc'] },
    });
  });

  it('rejects other versions', () => {
    expect(readTagMessage({}, NOW)).toBeUndefined();
    expect(readTagMessage({ v: 2 }, NOW)).toBeUndefined();
  });

  it.each([
    ['in the future', NOW + 1],
    ['too old', NOW - 401 * 86_400_000],
    ['not a number', '5'],
    ['missing', undefined],
    ['not finite', Number.NaN],
  ])('replaces a click time that is %s by the current time', (_, t) => {
    expect(read({ clicks: { gclid: { id: 'x', t } } })?.clicks.gclid?.timeMs).toBe(NOW);
  });

  it('removes email addresses from links, campaigns and ids', () => {
    const message = read({
      page: 'https://shop.example/thanks/jane@example.com/x?e=jane@example.com',
      referrer: 'https://jane:secret@mail.example/',
      utm: { term: 'jane%40example.com', content: 'jane%2540example.com' },
      clicks: { gclid: { id: 'jane@example.com', t: 1 } },
      cookies: { _fbp: 'jane@example.com' },
    });
    expect(JSON.stringify(message)).not.toMatch(/jane|secret/);
    expect(message?.page).toBe('https://shop.example/');
  });

  it('bounds any message in size and click times', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'visitor',
            'visit',
            'hash',
            'page',
            'referrer',
            'clicks',
            'first',
            'utm',
            'cookies',
            'consent',
            'signals',
          ),
          fc.jsonValue({ maxDepth: 3 }),
        ),
        (body) => {
          const message = read(body);
          expect(JSON.stringify(message).length).toBeLessThan(60_000);
          for (const click of Object.values(message?.clicks ?? {})) expect(click.timeMs).toBeLessThanOrEqual(NOW);
        },
      ),
    );
  });
});

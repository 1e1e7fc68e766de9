import { unsupportedNodeText } from './node-support.js';

describe('a version of Node', () => {
  it('that is out of support is named with what to install', () => {
    expect(unsupportedNodeText('20.19.4', new Date('2026-05-01'))).toBe(
      'Node 20 has been out of support since April 2026. Install Node 24, which is also faster.\n',
    );
  });

  it.each([
    ['20.19.4', '2026-04-30'],
    ['24.0.0', '2026-11-17'],
    ['28.1.0', '2030-01-01'],
  ])('%s is not mentioned on %s', (version, today) => {
    expect(unsupportedNodeText(version, new Date(today))).toBe('');
  });
});

import { unsupportedNodeText } from './node-support.js';

describe('a version of Node', () => {
  it('that is out of support is named with what to install', () => {
    expect(unsupportedNodeText('20.19.4')).toBe(
      'Node 20 has been out of support since April 2026. Install Node 24, which is also faster: nvm install 24 (or https://nodejs.org/en/download)\n',
    );
  });

  it.each(['22.12.0', '24.0.0', '28.1.0'])('%s is not mentioned', (version) => {
    expect(unsupportedNodeText(version)).toBe('');
  });
});

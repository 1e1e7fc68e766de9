import { readFileSync } from 'node:fs';
import { MANIFESTS } from '../platforms/manifests.js';
import { type ConsentChoices, consentChoices } from './consent-choices.js';

const labelOf = ({ platform, setting }: ConsentChoices) => {
  const label = MANIFESTS.find(({ name }) => name === platform)?.label;
  return setting === undefined ? label : `${label}, \`${setting}\``;
};

describe('what leaves after an opt-out', () => {
  const choices = consentChoices();

  it('is nothing personal where the site withholds that, and nothing where it withholds everything', () => {
    for (const { personal, everything } of choices) {
      expect(['nothing', 'the conversion alone, flagged']).toContain(personal);
      expect(everything).toBe('nothing');
    }
  });

  it('is what docs/privacy.md says', () => {
    const rows = choices.map(
      (each) => `| ${labelOf(each)} | ${each.identifiers} | ${each.personal} | ${each.everything} |`,
    );
    expect(readFileSync('docs/privacy.md', 'utf8')).toContain(
      ['| platform | `identifiers` | `personal` | `everything` |', '|---|---|---|---|', ...rows, ''].join('\n'),
    );
  });
});

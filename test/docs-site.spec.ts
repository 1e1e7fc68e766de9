import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSite } from '../docs-site/site.mjs';
import { temporaryFolder } from './support/folders.js';

const HOME = '# Guide\n\n## Send\n\n- [Send](send.md)\n';

let root: string;
let out: string;
beforeEach(() => {
  root = temporaryFolder('cc-docs-');
  out = join(root, 'site');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Builds a site of these files of the folder of the pages. */
function build(files: Readonly<Record<string, string>>) {
  writeFileSync(
    join(root, 'package.json'),
    '{"version":"1.2.3","repository":{"url":"git+https://git.example/a/b.git"}}',
  );
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, 'docs', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  const { pages, problems } = buildSite(root, out);
  return { pages, problems: problems.map((problem) => problem.replaceAll('docs/', '')) };
}
const built = (path: string) => readFileSync(join(out, path), 'utf8');

describe('the documentation site', () => {
  it('is built from docs/ without problems, with relative addresses, and without inline code', () => {
    const { pages, problems } = buildSite('.', out);
    expect(problems).toEqual([]);
    expect(pages).toBeGreaterThan(90);
    const html = readdirSync(out, { recursive: true })
      .map(String)
      .filter((path) => path.endsWith('.html'));
    expect(html).toHaveLength(pages);
    for (const path of html) {
      const text = built(path);
      // Code of pages is escaped, so that these are tags of the site.
      const wrong = text.match(
        /<script(?![^>]*\ssrc=)|<style|<[^>]+\s(?:style|on\w+)=|(?:href|src)="\/[^"]*"|<(?:script|link|img)[^>]*"https?:[^"]*"/g,
      );
      expect([path, wrong]).toEqual([path, null]);
    }
  });

  it('names the version of the package', () => {
    build({ 'README.md': HOME, 'send.md': '# Send\n' });
    expect(built('send.html')).toContain('>1.2.3<');
  });

  it('draws a diagram in the colours of the page', () => {
    build({ 'README.md': HOME, 'send.md': '# Send\n\n```mermaid\nflowchart TB\n  a["Shop"] --> b["Log"]\n```\n' });
    const diagram = built('send.html').match(/<div class="diagram"[\s\S]*?<\/svg>/)?.[0];
    expect(diagram?.match(/>(?:Shop|Log)</g)).toEqual(['>Shop<', '>Log<']);
    expect(diagram).not.toMatch(/<style|#[0-9a-f]{6}|http/i);
  });

  it.each([
    ['a page that does not exist', '[a](other.md)', 'send.md: other.md does not exist.'],
    ['a heading that does not exist', '[a](#other)', 'send.md: #other: send.md has no such heading.'],
    ['a heading of another page', '[a](README.md#other)', 'send.md: README.md#other: README.md has no such heading.'],
    ['an image that does not exist', '![a](images/a.png)', 'send.md: images/a.png does not exist.'],
    ['HTML', '<script>alert(1)</script>', 'send.md: <script>alert(1)</script> is HTML that the site does not show.'],
  ])('is not built with %s', (_, text, problem) => {
    expect(build({ 'README.md': HOME, 'send.md': `# Send\n\n${text}\n` }).problems).toEqual([problem]);
    expect(existsSync(out)).toBe(false);
  });

  it('is not built with a page that the contents do not name', () => {
    const files = { 'README.md': HOME, 'send.md': '# Send\n', 'lost.md': '# Lost\n' };
    expect(build(files).problems).toEqual(['README.md does not name lost.md.']);
  });

  it('links headings, files beside the pages, images, and files of the repository at the tag of the version', () => {
    const text =
      '# Send\n\n## `a_b`, twice\n\n## `a_b`, twice\n\n<a id="old"></a>[1](#a_b-twice-1) [2](#old) [3](a.yml) ![4](a.svg) [5](../src/a.ts)\n';
    expect(build({ 'README.md': HOME, 'send.md': text, 'a.yml': 'a: 1', 'a.svg': '<svg/>' }).problems).toEqual([]);
    const addresses = [...built('send.html').matchAll(/(?:href|src)="([^"]+)"[^>]*>\d?(?=<\/a>|\s)/g)].map(
      ([, address]) => address,
    );
    expect(addresses).toEqual(
      expect.arrayContaining([
        'send.html#a_b-twice-1',
        'send.html#old',
        'a.yml',
        'https://git.example/a/b/blob/v1.2.3/src/a.ts',
      ]),
    );
    expect(built('send.html')).toMatch(/<img src="assets\/a-[0-9a-f]{12}\.svg" alt="4">/);
    expect(built('a.yml')).toBe('a: 1');
  });

  it('places the pages of a folder below its index, in order, with links to the next and the previous one', () => {
    const files = { 'x/README.md': '# X\n', 'x/2.md': '# Two\n', 'x/1.md': '# One\n' };
    build({ 'README.md': '# Guide\n\n## Send\n\n- [All](x/README.md)\n', ...files });
    expect(built('x/1.html')).toMatch(/rel="prev">All<[\s\S]*href="2\.html" rel="next">Two</);
    expect(built('x/1.html')).toContain('<a href="1.html" aria-current="page">One</a>');
  });
});

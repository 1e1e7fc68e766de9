import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const README_LINES_MAX = 120;
const TASK_WORDS_MAX = 1_500;
const FIGURES_WORDS_MAX = 2_000;
/** Files that a reader opens to follow one thing through the code. */
const STEPS_MAX = 15;
/** They list or explain, and have nothing to do: indexes, tables to look things up in, and what is inside. */
const WITHOUT_NEEDS = [
  ...['README', 'operate', 'platforms/README', 'settings', 'security', 'scale', 'licences', 'glossary'],
  ...['architecture', 'log', 'reliability', 'benchmarks', 'benchmarks-history', 'compare'],
].map((name) => `docs/${name}.md`);
/** Below the title. */
const FIRST_LINES = 12;
const DECISION_SECTIONS = ['Context', 'Decision', 'Consequences'];

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true }).map((file) => join(folder, String(file)));
const read = (file: string) => readFileSync(file, 'utf8');

const PAGES = filesBelow('docs').filter((file) => file.endsWith('.md'));
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', ...PAGES];
const PLATFORM_PAGES = [...filesBelow('src/platforms'), ...filesBelow('src/sources')].filter((file) =>
  file.endsWith('README.md'),
);

describe('documentation', () => {
  it('links to files and headings that exist', () => {
    const broken = [...DOCUMENTS, ...PLATFORM_PAGES].flatMap((file) =>
      linksIn(read(file))
        .filter((target) => !/^https?:/.test(target) && !isResolvable(file, target))
        .map((target) => `${file}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('names source files and package scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    // The changelog also names what earlier versions had.
    const wrong = DOCUMENTS.filter((file) => file !== 'CHANGELOG.md').flatMap((file) => {
      const text = read(file);
      const sources = [...text.matchAll(/`((?:src|scripts|test)\/[^`\s*<]*)`/g)].map(([, path]) => path as string);
      const named = [...text.matchAll(/npm (?:run (?:-s )?([\w:-]+)|(start|test))/g)].map(
        ([, script, verb]) => (script ?? verb) as string,
      );
      const missing = [...sources.filter((path) => !existsSync(path)), ...named.filter((name) => !(name in scripts))];
      return missing.map((name) => `${file}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('exists where source comments refer to it', () => {
    const sources = [...filesBelow('src'), ...filesBelow('scripts'), ...filesBelow('test')].filter((file) =>
      /\.(ts|mjs|cjs)$/.test(file),
    );
    const broken = sources.flatMap((file) =>
      [...read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)]
        .filter(([path]) => !existsSync(path))
        .map(([path]) => `${file}: ${path}`),
    );
    expect(broken).toEqual([]);
  });

  it.each(PAGES.filter((file) => !WITHOUT_NEEDS.includes(file) && !file.startsWith('docs/decisions/')))(
    '%s states what its reader needs, in the first lines',
    (file) => {
      const first = read(file).split('\n').slice(0, FIRST_LINES).join('\n');
      expect(first).toMatch(/^(?:\*\*What you need:\*\* \S|## What you need$)/m);
    },
  );

  it('has no markers of a merge conflict', () => {
    const conflicts = [...DOCUMENTS, ...PLATFORM_PAGES].filter((file) =>
      /^(?:<{7}|={7}|>{7})(?: |$)/m.test(read(file)),
    );
    expect(conflicts).toEqual([]);
  });

  it('has a README of at most 120 lines', () => {
    expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(README_LINES_MAX);
  });
});

describe('the size of documents', () => {
  const wordsIn = (file: string) => read(file).split(/\s+/).filter(Boolean).length;

  it.each(filesBelow('docs/operate').filter((file) => file.endsWith('.md')))('of %s is at most 1,500 words', (file) => {
    expect(wordsIn(file)).toBeLessThanOrEqual(TASK_WORDS_MAX);
  });

  it('of the index of operations and of the page of current figures is limited', () => {
    expect(wordsIn('docs/operate.md')).toBeLessThanOrEqual(TASK_WORDS_MAX);
    expect(wordsIn('docs/benchmarks.md')).toBeLessThanOrEqual(FIGURES_WORDS_MAX);
  });
});

describe('docs/architecture.md', () => {
  const page = read('docs/architecture.md');
  const section = (title: string) => page.split(/^## /m).find((each) => each.startsWith(`${title}\n`)) ?? '';
  const sourcesIn = (text: string) =>
    linksIn(text).flatMap((target) => (target.startsWith('../src/') ? [target.slice('../'.length)] : []));

  it.each(['A conversion', 'A retry', 'A visit', 'An erasure'])('follows "%s" through at most 15 files', (title) => {
    const steps = [...section(title).matchAll(/^\d+\. \[.*\]\((.*?)\):/gm)].map(([, target]) => target as string);
    expect(steps.length).toBeGreaterThan(5);
    // No other source is linked, so the list is complete.
    expect(sourcesIn(section(title))).toEqual(steps.map((target) => target.slice('../'.length)));
    expect(new Set(steps).size).toBe(steps.length);
    expect(steps.length).toBeLessThanOrEqual(STEPS_MAX);
    expect(steps.filter((target) => !statSync(join('docs', target)).isFile())).toEqual([]);
  });

  it('describes every folder of the source', () => {
    const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const described = sourcesIn(section('Folders')).map((path) => path.replace(/\/$/, ''));
    expect(folders.filter(({ name }) => !described.includes(`src/${name}`)).map(({ name }) => name)).toEqual([]);
  });
});

describe('decisions', () => {
  const folder = 'docs/decisions';
  const pages = readdirSync(folder)
    .filter((file) => file !== 'README.md')
    .sort();
  const number = (index: number) => String(index + 1).padStart(4, '0');

  it('have consecutive numbers', () => {
    expect(pages.map((file) => file.slice(0, 4))).toEqual(pages.map((_, index) => number(index)));
  });

  it('have a title, a status and the same sections', () => {
    for (const [index, file] of pages.entries()) {
      const text = read(join(folder, file));
      expect(text).toMatch(new RegExp(`^# ${number(index)}\\. .+\\n\\nStatus: (accepted|replaced by .+)\\n`));
      expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual(DECISION_SECTIONS);
    }
  });

  it('are listed in the index with their titles', () => {
    const listed = [...read(join(folder, 'README.md')).matchAll(/^\| \[(\d{4})\]\((.*)\) \| (.*) \| /gm)];
    expect(listed.map(([, , file, title]) => [file, title])).toEqual(
      pages.map((file) => [file, /^# \d{4}\. (.*)$/m.exec(read(join(folder, file)))?.[1]]),
    );
  });
});

function linksIn(markdown: string): string[] {
  const text = withoutBlocks(markdown).replace(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string);
}

function isResolvable(file: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const linked = path === '' ? file : resolve(dirname(file), path);
  if (!existsSync(linked)) return false;
  return anchor === undefined || anchorsOf(read(linked)).includes(anchor);
}

/** The anchors that GitHub generates for headings, and those that keep old links to a page working. */
function anchorsOf(markdown: string): string[] {
  const text = withoutBlocks(markdown);
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text.matchAll(/<a id="([\w-]+)">/g)].map(([, id]) => id as string)];
}

function withoutBlocks(markdown: string): string {
  return markdown.replace(/^( *)```[\s\S]*?^\1```$/gm, '');
}

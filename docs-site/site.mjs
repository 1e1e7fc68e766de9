// The site: every page of docs/, and those outside of it that the contents name, with a file each for styles, scripts and search.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readContents } from './contents.mjs';
import { renderMarkdown } from './markdown.mjs';
import { pageHtml } from './page.mjs';
import { searchIndex } from './search-index.mjs';

const own = fileURLToPath(new URL('./', import.meta.url));
const dashboard = fileURLToPath(new URL('../src/dashboard/browser/', import.meta.url));
const minisearch = fileURLToPath(import.meta.resolve('minisearch'));
const IMAGES = ['.png', '.svg'];

/** Writes the site of the pages below `root` into the folder `out`, unless there are problems. */
export function buildSite(root, out) {
  const { version, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const below = (folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) => posix.join(folder, slashes(path)));
  const sources = below('docs').filter((path) => path.endsWith('.md'));
  const { sections, outside, problems } = readContents(readFileSync(join(root, 'docs/README.md'), 'utf8'), sources);
  const files = new Map();
  const assets = new Map();
  const addAsset = (name, content) => {
    const [stem, extension] = [basename(name, extname(name)), extname(name)];
    const path = `assets/${stem}-${createHash('sha256').update(content).digest('hex').slice(0, 12)}${extension}`;
    files.set(path, content);
    assets.set(name, path);
    return path;
  };
  const pages = new Map([...sources, ...outside].map((source) => [source, { source, address: addressOf(source) }]));
  for (const page of pages.values()) {
    const resolveLink = (target) => {
      const [path, anchor] = target.split('#');
      const linked = path === '' ? page.source : posix.join(posix.dirname(page.source), path);
      if (pages.has(linked)) {
        page.links.push({ target, linked, anchor });
        return `${relative(page.address, pages.get(linked).address)}${anchor === undefined ? '' : `#${anchor}`}`;
      }
      if (linked.startsWith('docs/')) {
        if (!existsSync(join(root, linked)) || !statSync(join(root, linked)).isFile()) {
          problems.push(`${page.source}: ${target} does not exist.`);
          return target;
        }
        const content = readFileSync(join(root, linked));
        if (IMAGES.includes(extname(linked))) return relative(page.address, addAsset(linked, content));
        const copy = linked.slice('docs/'.length);
        files.set(copy, content);
        return relative(page.address, copy);
      }
      // A file of the source, whose existence a spec checks: not everything is there where an image is built.
      return `${repository.url.replace(/^git\+|\.git$/g, '')}/blob/v${version}/${linked}`;
    };
    page.links = [];
    const rendered = renderMarkdown(readFileSync(join(root, page.source), 'utf8'), resolveLink);
    problems.push(...rendered.problems.map((problem) => `${page.source}: ${problem}`));
    Object.assign(page, rendered);
  }
  for (const page of pages.values()) {
    const lost = page.links.filter(({ linked, anchor }) => anchor !== undefined && !pages.get(linked).ids.has(anchor));
    problems.push(...lost.map(({ target, linked }) => `${page.source}: ${target}: ${linked} has no such heading.`));
  }
  if (problems.length > 0) return { pages: pages.size, problems };

  addAsset('icon.svg', readFileSync(join(dashboard, 'icon.svg')));
  addAsset(
    'guide.css',
    Buffer.concat([readFileSync(join(dashboard, 'styles/base.css')), readFileSync(join(own, 'browser/guide.css'))]),
  );
  for (const script of ['theme.js', 'guide.js']) addAsset(script, readFileSync(join(own, 'browser', script)));
  addAsset('minisearch.js', searchLibrary());
  addAsset('search.json', searchIndex([...pages.values()]));
  for (const page of pages.values()) {
    const html = pageHtml({ page, pages, sections, version, assets, link: (to) => relative(page.address, to) });
    files.set(page.address, html);
  }
  rmSync(out, { recursive: true, force: true });
  for (const [path, content] of files) {
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), content);
  }
  return { pages: pages.size, problems };
}

/** Its licence asks to be passed on with it. */
function searchLibrary() {
  const licence = readFileSync(join(dirname(minisearch), '../../LICENSE.txt'), 'utf8');
  const code = readFileSync(minisearch, 'utf8');
  return `/*!\nminisearch\n${licence}*/\n${code.replace(/^\/\/# sourceMappingURL=.*$/m, '')}`;
}

function addressOf(source) {
  const path = source.startsWith('docs/') ? source.slice('docs/'.length) : `repository/${source.toLowerCase()}`;
  return path.replace(/readme\.md$/i, 'index.html').replace(/\.md$/, '.html');
}

function relative(from, to) {
  return posix.relative(posix.dirname(from), to);
}

function slashes(path) {
  return String(path).replaceAll('\\', '/');
}

// The HTML around a page. All addresses are relative, so that the site works below any path.
import { flat } from './contents.mjs';
import { escapeHtml } from './markdown.mjs';

const HOME = 'docs/README.md';

/** @param link the address of a file of the site, seen from the page */
export function pageHtml({ page, pages, sections, version, assets, link }) {
  const asset = (name) => link(assets.get(name));
  const titleOf = (entry) => entry.title ?? pages.get(entry.source).title;
  const linkTo = (entry, attributes = '') =>
    `<a href="${link(pages.get(entry.source).address)}"${attributes}>${escapeHtml(titleOf(entry))}</a>`;
  const current = sections.find(({ entries }) => flat(entries).some(({ source }) => source === page.source));
  const isHome = page.source === HOME;
  const root = link('index.html').slice(0, -'index.html'.length);

  const entrances = sections.map((section) => {
    const { address } = pages.get(section.entries[0].source);
    return `<a href="${link(address)}"${section === current ? ' aria-current="true"' : ''}>${section.title}</a>`;
  });

  const items = (entries) =>
    entries
      .map((entry) => {
        const isCurrent = entry.source === page.source;
        const below = isCurrent || flat(entry.entries).some(({ source }) => source === page.source);
        return `<li>${linkTo(entry, isCurrent ? ' aria-current="page"' : '')}${
          below && entry.entries.length > 0 ? `<ul>${items(entry.entries)}</ul>` : ''
        }</li>`;
      })
      .join('\n');
  const contents = sections.map(
    (section) =>
      `<details${isHome || section === current ? ' open' : ''}><summary>${section.title}</summary><ul>${items(section.entries)}</ul></details>`,
  );

  const order = flat(sections.flatMap(({ entries }) => entries));
  const place = order.findIndex(({ source }) => source === page.source);
  const turn = (entry, direction) =>
    entry === undefined
      ? ''
      : `<div class="${direction}"><span>${direction}</span>${linkTo(entry, ` rel="${direction}"`)}</div>`;
  const turns = isHome ? '' : `${turn(order[place - 1], 'prev')}${turn(order[place + 1], 'next')}`;

  const parts = page.headings.filter(({ depth }) => depth === 2 || depth === 3);
  const onPage = parts.map(
    ({ id, depth, title }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(title)}</a></li>`,
  );

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} – Clean Conversions</title>
<link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${asset('guide.css')}">
<script src="${asset('theme.js')}"></script>
<script type="module" src="${asset('guide.js')}"></script>
</head>
<body data-root="${root}" data-search="${asset('minisearch.js')}" data-index="${asset('search.json')}">
<a class="skip" href="#main">Skip to the content</a>
<header>
<button type="button" class="menu scripted" aria-expanded="false" aria-controls="contents">Menu</button>
<a class="brand" href="${link('index.html')}"><img src="${asset('icon.svg')}" alt="" width="20" height="20"><span>Clean Conversions</span></a>
<span class="version">${version}</span>
<nav class="entrances" aria-label="Entrances">${entrances.join('\n')}<a href="${root}../../docs">API reference</a></nav>
<button type="button" class="search scripted" aria-keyshortcuts="/">Search <kbd>/</kbd></button>
<select class="theme scripted" aria-label="Colours"><option value="system">System</option><option value="light">Light</option><option value="dark">Dark</option></select>
</header>
<div class="columns">
<nav id="contents" aria-label="Contents">${contents.join('\n')}</nav>
<main id="main" tabindex="-1"${isHome ? ' class="home"' : ''}>
<article>${isHome ? inSections(page.html) : page.html}</article>
${turns && `<nav class="turns" aria-label="Previous and next page">${turns}</nav>`}
</main>
${onPage.length > 1 && !isHome ? `<nav class="on-page" aria-label="On this page"><p>On this page</p><ul>${onPage.join('\n')}</ul></nav>` : ''}
</div>
<dialog id="search" aria-label="Search">
<input type="text" enterkeyhint="search" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false">
<p role="status"></p>
<ol></ol>
</dialog>
</body>
</html>
`;
}

/** A card per entrance. */
function inSections(html) {
  const [head, ...sections] = html.split(/^(?=<h2 )/m);
  return `${head}<div class="cards">${sections.map((section) => `<section>${section}</section>`).join('\n')}</div>`;
}

// The navigation is what the page docs/README.md lists: a section per heading, an entry per item, with the items below it.
import { posix } from 'node:path';
import { Lexer } from 'marked';

/** The sections, the pages outside of docs/ that they name, and the pages of docs/ that they do not. */
export function readContents(text, sources) {
  const sections = [];
  for (const token of Lexer.lex(text)) {
    if (token.type === 'heading' && token.depth === 2) sections.push({ title: token.text, entries: [] });
    if (token.type === 'list') sections.at(-1).entries.push(...entriesOf(token));
  }
  const named = new Set(flat(sections.flatMap(({ entries }) => entries)).map(({ source }) => source));
  for (const { entries } of sections) for (const entry of flat(entries)) addFolder(entry, sources, named);
  const missing = sources.filter((source) => !named.has(source) && source !== 'docs/README.md');
  return {
    sections,
    outside: [...named].filter((source) => !source.startsWith('docs/')),
    problems: missing.map((source) => `docs/README.md does not name ${source}.`),
  };
}

/** The pages beside the index of a folder are below it, if nothing else names them. */
function addFolder(entry, sources, named) {
  if (!entry.source.endsWith('/README.md')) return;
  const folder = posix.dirname(entry.source);
  const others = sources.filter((source) => posix.dirname(source) === folder && !named.has(source));
  for (const source of others.sort()) {
    named.add(source);
    entry.entries.push({ source, entries: [] });
  }
}

function entriesOf(list) {
  return list.items.map(({ tokens }) => {
    const link = linksIn(tokens)[0];
    const below = tokens.find(({ type }) => type === 'list');
    return {
      title: link.text,
      source: posix.join('docs', link.href),
      entries: below ? entriesOf(below) : [],
    };
  });
}

function linksIn(tokens) {
  return tokens.flatMap((token) =>
    token.type === 'link' ? [token] : token.type === 'list' ? [] : linksIn(token.tokens ?? []),
  );
}

/** In the order in which they are read. */
export function flat(entries) {
  return entries.flatMap((entry) => [entry, ...flat(entry.entries)]);
}

// Markdown of one page as HTML, with the headings and the text that navigation and search need.
import { renderMermaidSVG } from 'beautiful-mermaid';
import { Marked } from 'marked';

const NEEDS = /^\*\*What you need[:.]\*\*/;
/** What pages contain beside Markdown: anchors that keep old links working, and comments. */
const PERMITTED_HTML = /^(?:<a id="[\w-]+">|<\/a>|<br>|<!--[\s\S]*-->)$/;
const TABLE = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>';

/** @param resolveLink the address on the site of a link or an image of the page */
export function renderMarkdown(text, resolveLink) {
  const ids = new Set();
  const headings = [];
  const problems = [];
  const addressOf = (target) => escapeHtml(/^https?:/.test(target) ? target : resolveLink(target));
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text: source }) {
        const id = unused(slugOf(source), ids);
        const title = plainText(tokens);
        headings.push({ id, depth, title });
        const link =
          depth > 1 ? `<a class="anchor" href="#${id}" aria-label="Link to: ${escapeHtml(title)}">#</a>` : '';
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`;
      },
      paragraph({ tokens, raw }) {
        return `<p${NEEDS.test(raw) ? ' class="needs"' : ''}>${this.parser.parseInline(tokens)}</p>\n`;
      },
      link({ href, tokens }) {
        return `<a href="${addressOf(href)}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text: description }) {
        return `<img src="${addressOf(href)}" alt="${escapeHtml(description)}">`;
      },
      code({ text: code, lang }) {
        if (lang === 'mermaid') return diagramOf(code);
        return `<div class="code"><pre tabindex="0"><code>${escapeHtml(code)}\n</code></pre></div>\n`;
      },
      codespan({ text: code }) {
        // Long names may break after their parts, so that tables stay narrow.
        const html = escapeHtml(code).replace(/(?<=[\w;)][_/.,=])(?=\w)/g, '<wbr>');
        return `<code>${html}</code>`;
      },
      html({ text: html }) {
        const tag = html.trim();
        if (!PERMITTED_HTML.test(tag)) problems.push(`${tag} is HTML that the site does not show.`);
        const id = /^<a id="([\w-]+)">$/.exec(tag)?.[1];
        if (id) ids.add(id);
        return tag.startsWith('<!--') ? '' : html;
      },
    },
  });
  const tokens = marked.lexer(text);
  // Wider than a phone: it scrolls by itself, also with the keyboard.
  const html = marked.parser(tokens).replaceAll('<table>', TABLE).replaceAll('</table>', '</table></div>');
  if (headings[0]?.depth !== 1) problems.push('does not begin with a heading of the first level.');
  return { html, ids, headings, problems, title: headings[0]?.title, passages: passagesIn(tokens, headings) };
}

/** Without styles of its own: it has the colours of the page, whose policy permits no others. */
function diagramOf(code) {
  const svg = renderMermaidSVG(code).replace(/<style>[\s\S]*?<\/style>/, '');
  const image = svg.replace(/^<svg[^>]*?(viewBox="[^"]*")[^>]*>/, '<svg $1 role="img" aria-label="Diagram">');
  return `<div class="diagram" tabindex="0" role="group" aria-label="Diagram">${image}</div>\n`;
}

/** The text below each heading, as search finds it. */
function passagesIn(tokens, headings) {
  const passages = [];
  for (const token of tokens) {
    if (token.type === 'heading') passages.push({ ...headings[passages.length], text: '' });
    else if (token.type !== 'html' && passages.length > 0) passages.at(-1).text += `${plainText([token])} `;
  }
  return passages.map((passage) => ({ ...passage, text: passage.text.replace(/\s+/g, ' ').trim() }));
}

function plainText(tokens) {
  return tokens
    .map((token) => {
      if (token.type === 'html' || token.lang === 'mermaid') return '';
      if (token.type === 'table')
        return [token.header, ...token.rows]
          .flat()
          .map((cell) => plainText(cell.tokens))
          .join(' ');
      if (token.type === 'list') return token.items.map((item) => plainText(item.tokens)).join(' ');
      return token.tokens ? plainText(token.tokens) : unescapeHtml(token.text ?? token.raw ?? '');
    })
    .join('');
}

/** As GitHub names the anchors of headings. */
function slugOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

function unused(slug, ids) {
  let id = slug;
  for (let repeat = 1; ids.has(id); repeat++) id = `${slug}-${repeat}`;
  ids.add(id);
  return id;
}

export function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[character]);
}

function unescapeHtml(text) {
  return text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name],
  );
}

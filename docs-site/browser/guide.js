// Colours, menu, copy buttons and search. Pages are complete without it.
const RESULTS_MAX = 30;
const COPIED_MS = 1_500;
const { root, search: libraryUrl, index: indexUrl } = document.body.dataset;

chooseColours(document.querySelector('select.theme'));
toggleContents(document.querySelector('button.menu'));
for (const block of document.querySelectorAll('.code')) addCopyButton(block);
document.querySelector('#contents [aria-current]')?.scrollIntoView({ block: 'nearest' });
search(document.querySelector('#search'));

function chooseColours(choice) {
  choice.value = document.documentElement.dataset.theme ?? 'system';
  choice.addEventListener('change', () => {
    if (choice.value === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice.value;
    try {
      localStorage.setItem('cc.theme', choice.value);
    } catch {
      // Storage is blocked: they last until the page is left.
    }
  });
}

function toggleContents(button) {
  const contents = document.querySelector('#contents');
  button.addEventListener('click', () => {
    const isOpen = contents.classList.toggle('open');
    button.setAttribute('aria-expanded', String(isOpen));
  });
}

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const isCopied = await copy(block.querySelector('code'));
    button.textContent = isCopied ? 'Copied' : 'Press Ctrl-C';
    setTimeout(() => (button.textContent = 'Copy'), COPIED_MS);
  });
  block.append(button);
}

/** Browsers refuse the clipboard to pages of another host over HTTP: then the text is selected. */
async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent.trimEnd());
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}

function search(dialog) {
  const [input, status, list] = ['input', 'p', 'ol'].map((tag) => dialog.querySelector(tag));
  let loading;
  const open = () => {
    if (!dialog.open) dialog.showModal();
    input.select();
    loading ??= loadIndex();
    void show();
  };
  const show = async () => {
    const words = input.value.trim();
    status.textContent = words === '' ? '' : 'Loading …';
    const index = await loading.catch(() => undefined);
    // A later input is shown by its own call.
    if (words !== input.value.trim()) return;
    const found =
      words === '' || !index
        ? []
        : index.search(words, { prefix: true, fuzzy: fuzzyOf, boost: BOOST, combineWith: 'AND' });
    list.replaceChildren(...found.slice(0, RESULTS_MAX).map(resultItem));
    if (!index) status.textContent = 'The index could not be loaded. Reload the page.';
    else if (words !== '') status.textContent = found.length === 1 ? '1 result' : `${found.length} results`;
  };
  document.querySelector('button.search').addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, select, textarea');
    if (!(event.key === '/' && !isTyping) && !(event.key === 'k' && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    open();
  });
  input.addEventListener('input', show);
  // The page of a result may be this one.
  list.addEventListener('click', (event) => event.target.closest('a') && dialog.close());
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  dialog.addEventListener('keydown', (event) => moveFocus(event, [input, ...list.querySelectorAll('a')]));
}

const BOOST = { title: 3, page: 2 };
/** One wrong letter in a longer word. */
const fuzzyOf = (word) => (word.length > 4 ? 1 : false);

async function loadIndex() {
  const [{ default: MiniSearch }, response] = await Promise.all([
    import(new URL(libraryUrl, location.href).href),
    fetch(indexUrl),
  ]);
  const { options, index } = await response.json();
  return MiniSearch.loadJS(index, options);
}

function resultItem({ title, page, address, excerpt }) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = root + address;
  const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  link.append(part('strong', title));
  if (page !== title) link.append(part('span', page));
  link.append(part('p', excerpt));
  item.append(link);
  return item;
}

function moveFocus(event, stops) {
  const place = stops.indexOf(document.activeElement);
  if (event.key === 'Enter' && place === 0) stops[1]?.click();
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  event.preventDefault();
  stops[place + (event.key === 'ArrowDown' ? 1 : -1)]?.focus();
}

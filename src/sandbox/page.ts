/** The sandbox at a glance. It shows what strangers sent, so every text goes in as text and none as markup. */
export const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sandbox</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #ddd; }
th { font-weight: 600; } td { font-family: ui-monospace, monospace; font-size: 12px; overflow-wrap: anywhere; }
.problem { color: #b00020; } .quiet { color: #666; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #161616; } th, td { border-color: #333; }
  .problem { color: #ff8a80; } .quiet { color: #999; }
}
</style>
</head>
<body>
<h1>Sandbox</h1>
<p class="quiet" id="state">Nothing has come in yet.</p>
<main id="platforms"></main>
<script>
const COLUMNS = ['Time', 'Tenant', 'Call', 'Answer', 'Conversions', 'Problems'];
const ITEMS_SHOWN = 10;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function shortened(list) {
  const shown = list.slice(0, ITEMS_SHOWN).join('\\n');
  return list.length > ITEMS_SHOWN ? shown + '\\n… and ' + (list.length - ITEMS_SHOWN) + ' more' : shown;
}

function row(call) {
  const made = element('tr');
  const problems = call.received.flatMap((item) => item.problems.map((problem) => item.eventId + ': ' + problem));
  const items = call.received.map((item) => item.event + ' ' + item.eventId + (item.taken ? '' : ' (not taken)'));
  made.append(
    element('td', call.at.slice(11, 23)),
    element('td', call.tenant),
    element('td', call.method + ' ' + call.path),
    element('td', (call.status ?? 'none') + (call.mode === 'ok' ? '' : ' (' + call.mode + ')')),
    element('td', shortened(items)),
    element('td', shortened(problems), 'problem'),
  );
  for (const cell of made.children) cell.style.whiteSpace = 'pre-wrap';
  return made;
}

function section(platform, tenants, calls) {
  const made = element('section');
  made.append(element('h2', platform));
  for (const [tenant, figures] of Object.entries(tenants)) {
    const { calls, items, taken, repeats, problems } = figures;
    made.append(element('div', tenant + ': ' + calls + ' calls, ' + items + ' conversions, ' + taken + ' taken, '
      + repeats + ' repeats, ' + problems + ' problems', problems > 0 ? 'problem' : 'quiet'));
  }
  const table = element('table');
  const head = element('tr');
  head.append(...COLUMNS.map((column) => element('th', column)));
  table.append(head, ...calls.map(row));
  made.append(table);
  return made;
}

async function refresh() {
  const state = document.getElementById('state');
  try {
    const { recent, ...platforms } = await (await fetch('/ledger?ids=no')).json();
    const names = Object.keys(platforms);
    const latest = recent.reverse();
    document.getElementById('platforms').replaceChildren(
      ...names.map((name) => section(name, platforms[name], latest.filter((call) => call.platform === name))),
    );
    state.textContent = names.length === 0 ? 'Nothing has come in yet.' : 'The latest ' + recent.length + ' calls, newest first.';
  } catch {
    state.textContent = 'The sandbox does not answer any more.';
  }
  setTimeout(refresh, 2000);
}
refresh();
</script>
</body>
</html>
`;

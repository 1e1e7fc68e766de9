/** The page of the sandbox. It shows untrusted input, so every value is inserted as text, never as markup. */
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
<p class="quiet" id="state">No requests received yet.</p>
<main id="platforms"></main>
<script>
const COLUMNS = ['Time', 'Tenant', 'Request', 'Answer', 'Conversions', 'Problems'];
const ITEMS_SHOWN = 10;

function element(name, text, className) {
  const created = document.createElement(name);
  if (text !== undefined) created.textContent = text;
  if (className) created.className = className;
  return created;
}

function shortened(list) {
  const first = list.slice(0, ITEMS_SHOWN).join('\\n');
  return list.length > ITEMS_SHOWN ? first + '\\n… and ' + (list.length - ITEMS_SHOWN) + ' more' : first;
}

function row(call) {
  const tableRow = element('tr');
  const problems = call.received.flatMap((item) => item.problems.map((problem) => item.eventId + ': ' + problem));
  const items = call.received.map((item) => item.event + ' ' + item.eventId + (item.accepted ? '' : ' (refused)'));
  tableRow.append(
    element('td', call.at.slice(11, 23)),
    element('td', call.tenant),
    element('td', call.method + ' ' + call.path),
    element('td', (call.status ?? 'none') + (call.mode === 'ok' ? '' : ' (' + call.mode + ')')),
    element('td', shortened(items)),
    element('td', shortened(problems), 'problem'),
  );
  for (const cell of tableRow.children) cell.style.whiteSpace = 'pre-wrap';
  return tableRow;
}

function section(platform, tenants, calls) {
  const container = element('section');
  container.append(element('h2', platform));
  for (const [tenant, figures] of Object.entries(tenants)) {
    const { calls, items, accepted, repeats, problems } = figures;
    container.append(element('div', tenant + ': ' + calls + ' requests, ' + items + ' conversions, ' + accepted + ' accepted, '
      + repeats + ' repeats, ' + problems + ' problems', problems > 0 ? 'problem' : 'quiet'));
  }
  const table = element('table');
  const head = element('tr');
  head.append(...COLUMNS.map((column) => element('th', column)));
  table.append(head, ...calls.map(row));
  container.append(table);
  return container;
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
    state.textContent = names.length === 0 ? 'No requests received yet.' : 'The latest ' + recent.length + ' requests, newest first.';
  } catch {
    state.textContent = 'The sandbox does not respond.';
  }
  setTimeout(refresh, 2000);
}
refresh();
</script>
</body>
</html>
`;

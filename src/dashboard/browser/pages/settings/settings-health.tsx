import { api, dataOf } from '../../api.js';
import { Badge } from '../../components/badge.js';
import { Panel } from '../../components/panel.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Show } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { useData } from '../../hooks/use-data.js';
import { retentionRows } from '../../views/retention-view.js';

/** The checks of `doctor`, those that failed first. */
export function SettingsHealth() {
  const health = useData('health', () => dataOf(api.GET('/api/v1/health')));
  return (
    <SettingsPage
      title="Health"
      note="Whether the service and what it depends on work"
      actions={
        <button type="button" onClick={health.reload}>
          Check again
        </button>
      }
    >
      <Show of={health}>
        {({ checks, ok, time }) => (
          <Panel
            title="Checks"
            note={
              <>
                <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'all well' : 'something failed'}</Badge> <Time time={time} />
              </>
            }
          >
            <Table
              label="Checks"
              rows={checks.toSorted((one, other) => Number(one.ok) - Number(other.ok))}
              rowKey={({ name }) => name}
              columns={[
                { title: 'Check', cell: ({ name }) => <strong>{name}</strong> },
                { title: 'State', cell: ({ ok }) => <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'ok' : 'failed'}</Badge> },
                {
                  title: 'Details',
                  isText: true,
                  cell: ({ detail, fix }) => (
                    <>
                      {detail} {fix !== undefined && <p class="dim">{fix}</p>}
                    </>
                  ),
                },
              ]}
            />
          </Panel>
        )}
      </Show>
      <Retention />
    </SettingsPage>
  );
}

/** How long data is stored. It is set where the service is started. */
function Retention() {
  const installation = useData('installation', () => dataOf(api.GET('/api/v1/installation')));
  return (
    <Panel title="Retention" note="Set by the settings of the service">
      <Show of={installation}>
        {({ retention }) => (
          <dl class="facts pad">
            {retentionRows(retention).map(([title, value, setting]) => (
              <div key={setting}>
                <dt>{title}</dt>
                <dd>
                  {value} <code class="dim">{setting}</code>
                </dd>
              </div>
            ))}
          </dl>
        )}
      </Show>
    </Panel>
  );
}

import { Badge, Button, Facts, Time } from '../../components/basics.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { useGet } from '../../hooks/use-data.js';
import { retentionRows } from '../../views/retention-view.js';

/** The checks of `doctor`, those that failed first, and how long data is stored. */
export function SettingsHealth() {
  const health = useGet('/api/v1/health');
  const installation = useGet('/api/v1/installation');
  return (
    <SettingsPage path="/settings/health" actions={<Button label="Check again" onClick={health.reload} />}>
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
                  kind: 'text',
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
      <Panel title="Retention" note="Set by the settings of the service">
        <Show of={installation}>
          {({ retention }) => (
            <Facts
              isPadded
              rows={retentionRows(retention).map(([name, value, setting]) => ({
                name,
                value: (
                  <>
                    {value} <code class="dim">{setting}</code>
                  </>
                ),
              }))}
            />
          )}
        </Show>
      </Panel>
    </SettingsPage>
  );
}

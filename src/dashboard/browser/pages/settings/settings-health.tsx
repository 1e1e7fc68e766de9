import type { Schemas } from '../../api.js';
import { Badge, Button, Facts, Time } from '../../components/basics.js';
import { Panel, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { useGet } from '../../hooks/use-data.js';
import { retentionRows } from '../../views/retention-view.js';

type Judged = Pick<Schemas['HealthCheck'], 'ok' | 'warning'>;

const WORDS = ['failed', 'warning', 'ok'] as const;
const SUMMARIES = ['something failed', 'needs attention', 'all well'] as const;
const TONES = ['bad', 'warn', 'ok'] as const;

/** What failed first, then what needs attention. */
function rankOf({ ok, warning }: Judged): 0 | 1 | 2 {
  return !ok ? 0 : warning ? 1 : 2;
}

/** The checks of `doctor`, those that failed first, and how long data is stored. */
export function SettingsHealth() {
  const health = useGet('/api/v1/health');
  const installation = useGet('/api/v1/installation');
  return (
    <SettingsPage path="/settings/health" actions={<Button label="Check again" onClick={health.reload} />}>
      <Show of={health}>
        {({ checks, time }) => {
          const worst = Math.min(2, ...checks.map(rankOf)) as 0 | 1 | 2;
          return (
            <Panel
              title="Checks"
              note={
                <>
                  <Badge tone={TONES[worst]}>{SUMMARIES[worst]}</Badge> <Time time={time} />
                </>
              }
            >
              <Table
                label="Checks"
                rows={checks.toSorted((one, other) => rankOf(one) - rankOf(other))}
                rowKey={({ name }) => name}
                columns={[
                  { title: 'Check', cell: ({ name }) => <strong>{name}</strong> },
                  {
                    title: 'State',
                    cell: (check) => <Badge tone={TONES[rankOf(check)]}>{WORDS[rankOf(check)]}</Badge>,
                  },
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
          );
        }}
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

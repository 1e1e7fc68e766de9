import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../../api.js';
import { Badge } from '../../components/badge.js';
import { Confirm } from '../../components/forms/confirm.js';
import { FormDialog } from '../../components/forms/dialog.js';
import { CheckField, SelectField, TextField } from '../../components/forms/field.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { Panel } from '../../components/panel.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { ShownOnce } from '../../components/shown-once.js';
import { Empty, ProblemNote, Show } from '../../components/states.js';
import { Table } from '../../components/table.js';
import { Time } from '../../components/time.js';
import { areSettled, useAction, useData } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { fieldError } from '../../problem.js';
import { mayAdminister, mayWrite, useSession } from '../../session.js';

type Token = Schemas['Token'];
type Scope = Token['scopes'][number];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['read', 'Read'],
  ['write', 'Change sites, keys and connections'],
  ['erase', 'Erase persons'],
  ['move', 'Move sites here from another cell'],
];

export function SettingsTokens() {
  const { user } = useSession();
  // Others see their own tokens only, and no other users.
  const isAdministrator = mayAdminister(user);
  const users = useData(`owners ${isAdministrator}`, async () =>
    isAdministrator ? (await dataOf(api.GET('/api/v1/users'))).items : [],
  );
  const ownerOf = ({ ownerId }: Token) => users.data?.find(({ id }) => id === ownerId)?.email ?? ownerId;
  const tokens = useData('tokens', () => dataOf(api.GET('/api/v1/tokens')));
  const { opened, item, open, close } = useDialog();
  const revoking =
    opened === 'revoke' ? tokens.data?.items.find(({ id, revoked }) => id === item && !revoked) : undefined;
  return (
    <SettingsPage
      title="API tokens"
      note="With which programs call the management API in your name"
      actions={
        <button type="button" class="primary" onClick={() => open('new')}>
          Create a token
        </button>
      }
    >
      <ProblemNote problem={users.problem} retry={users.reload} />
      <Show of={areSettled(users) ? tokens : { ...tokens, data: undefined }}>
        {({ items }) => (
          <Panel title="Tokens">
            {items.length === 0 ? (
              <Empty title="No token yet">A token lets a program do what you may do, or less.</Empty>
            ) : (
              <Table
                label="Tokens"
                rows={items}
                rowKey={({ id }) => id}
                columns={[
                  { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
                  ...(isAdministrator ? [{ title: 'Owner', cell: ownerOf }] : []),
                  { title: 'Begins with', isMinor: true, cell: ({ prefix }) => <code>{prefix}…</code> },
                  { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
                  { title: 'Sites', isMinor: true, cell: ({ sites }) => (sites === null ? 'all' : sites.join(', ')) },
                  {
                    title: 'Last used',
                    cell: ({ lastUsedAt }) =>
                      lastUsedAt ? <Time time={lastUsedAt} as="age" /> : <span class="dim">never</span>,
                  },
                  {
                    title: 'Expires',
                    isMinor: true,
                    cell: ({ expiresAt }) =>
                      expiresAt ? <Time time={expiresAt} as="day" /> : <span class="dim">never</span>,
                  },
                  {
                    title: 'State',
                    cell: ({ revoked }) => (
                      <Badge tone={revoked ? 'plain' : 'ok'}>{revoked ? 'revoked' : 'active'}</Badge>
                    ),
                  },
                  {
                    title: 'Revoke',
                    isAction: true,
                    cell: (token) =>
                      !token.revoked && (
                        <button type="button" class="quiet" onClick={() => open('revoke', token.id)}>
                          Revoke <span class="hidden">{token.name}</span>
                        </button>
                      ),
                  },
                ]}
              />
            )}
          </Panel>
        )}
      </Show>
      {opened === 'new' && <CreateToken onCreated={tokens.reload} onClose={close} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          verb="Revoke"
          onClose={close}
          onConfirm={async () => {
            await dataOf(api.DELETE('/api/v1/tokens/{id}', { params: { path: { id: revoking.id } } }));
            tokens.reload();
          }}
        >
          Requests with this token are refused at once. It cannot be undone.
        </Confirm>
      )}
    </SettingsPage>
  );
}

function CreateToken({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const { user } = useSession();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['read']);
  const [sites, setSites] = useState<string[] | null>(null);
  const [days, setDays] = useState('90');
  const [token, setToken] = useState<string>();
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = { name, scopes: [...scopes], sites, ...(days !== '' && { expiresInDays: Number(days) }) };
      setToken((await dataOf(api.POST('/api/v1/tokens', { body }))).token);
      onCreated();
    });
  if (token !== undefined)
    return (
      <ShownOnce
        title={`The token ${name}`}
        note="Store it where the program reads its secrets."
        label="Token"
        secret={token}
        onClose={onClose}
      />
    );
  const offered = SCOPES.filter(([scope]) =>
    scope === 'move' ? mayAdminister(user) : scope === 'read' || mayWrite(user),
  );
  return (
    <FormDialog title="Create a token" action={action} verb="Create" onSubmit={() => void create()} onClose={onClose}>
      <TextField
        label="Name"
        required
        autofocus
        maxLength={100}
        placeholder="Terraform"
        help="The program that uses it."
        error={fieldError(action.problem, 'name')}
        value={name}
        onValue={setName}
      />
      <fieldset>
        <legend>Scopes</legend>
        {offered.map(([scope, title]) => (
          <CheckField
            key={scope}
            label={title}
            checked={scopes.includes(scope)}
            onValue={(isIncluded) =>
              setScopes(isIncluded ? [...scopes, scope] : scopes.filter((other) => other !== scope))
            }
          />
        ))}
      </fieldset>
      <SiteChoice sites={sites} onChange={setSites} />
      <SelectField
        label="Expires"
        value={days}
        options={[
          ['30', 'After 30 days'],
          ['90', 'After 90 days'],
          ['365', 'After a year'],
          ['', 'Never'],
        ]}
        onValue={setDays}
      />
    </FormDialog>
  );
}

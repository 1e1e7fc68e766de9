import { api, type Schemas } from '../../api.js';
import { Badge, Button, Time } from '../../components/basics.js';
import { Confirm, FormDialog } from '../../components/forms/dialog.js';
import { CheckField, SelectField, TextField, useFields } from '../../components/forms/fields.js';
import { SiteChoice } from '../../components/forms/site-choice.js';
import { Empty, Panel, ProblemNote, Show } from '../../components/frame.js';
import { SettingsPage } from '../../components/settings/settings-page.js';
import { Table } from '../../components/table.js';
import { areSettled, useData, useGet } from '../../hooks/use-data.js';
import { useDialog } from '../../hooks/use-dialog.js';
import { mayAdminister, mayWrite, useSession } from '../../session.js';

type Token = Schemas['Token'];
type Scope = Token['scopes'][number];

const SCOPES: readonly (readonly [Scope, string])[] = [
  ['read', 'Read'],
  ['write', 'Change sites, keys and connections'],
  ['erase', 'Erase persons'],
  ['move', 'Move sites here from another cell'],
];

const EXPIRIES = [
  ['30', 'After 30 days'],
  ['90', 'After 90 days'],
  ['365', 'After a year'],
  ['', 'Never'],
] as const;

export function SettingsTokens() {
  const { user } = useSession();
  // Others see their own tokens only, and no other users.
  const isAdministrator = mayAdminister(user);
  const users = useData(`owners ${isAdministrator}`, async () =>
    isAdministrator ? (await api.GET('/api/v1/users')).items : [],
  );
  const ownerOf = ({ ownerId }: Token) => users.data?.find(({ id }) => id === ownerId)?.email ?? ownerId;
  const tokens = useGet('/api/v1/tokens');
  const { opened, item, open, close } = useDialog();
  const revoking =
    opened === 'revoke' ? tokens.data?.items.find(({ id, revoked }) => id === item && !revoked) : undefined;
  return (
    <SettingsPage
      path="/settings/tokens"
      actions={<Button kind="primary" label="Create a token" onClick={() => open('new')} />}
    >
      <ProblemNote problem={users.problem} retry={users.reload} />
      <Show of={areSettled(users) ? tokens : { ...tokens, data: undefined }}>
        {({ items }) => (
          <Panel title="Tokens">
            <Table
              label="Tokens"
              rows={items}
              rowKey={({ id }) => id}
              empty={<Empty title="No token yet">A token lets a program do what you may do, or less.</Empty>}
              columns={[
                { title: 'Name', cell: ({ name }) => <strong>{name}</strong> },
                ...(isAdministrator ? [{ title: 'Owner', cell: ownerOf }] : []),
                { title: 'Begins with', isMinor: true, cell: ({ prefix }) => <code>{prefix}…</code> },
                { title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
                { title: 'Sites', isMinor: true, cell: ({ sites }) => (sites === null ? 'all' : sites.join(', ')) },
                { title: 'Last used', cell: ({ lastUsedAt }) => <Time time={lastUsedAt} as="age" /> },
                { title: 'Expires', isMinor: true, cell: ({ expiresAt }) => <Time time={expiresAt} as="day" /> },
                {
                  title: 'State',
                  cell: ({ revoked }) => (
                    <Badge tone={revoked ? 'plain' : 'ok'}>{revoked ? 'revoked' : 'active'}</Badge>
                  ),
                },
                {
                  title: 'Revoke',
                  kind: 'action',
                  cell: ({ id, name, revoked }) =>
                    !revoked && <Button kind="quiet" label="Revoke" about={name} onClick={() => open('revoke', id)} />,
                },
              ]}
            />
          </Panel>
        )}
      </Show>
      {opened === 'new' && <CreateToken onCreated={tokens.reload} onClose={close} />}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          verb="Revoke"
          onClose={close}
          onSubmit={async () => {
            await api.DELETE('/api/v1/tokens/{id}', { path: { id: revoking.id } });
            tokens.reload();
          }}
        >
          Requests with this token are refused at once. It cannot be undone.
        </Confirm>
      )}
    </SettingsPage>
  );
}

interface TokenForm {
  readonly name: string;
  readonly scopes: Scope[];
  readonly sites: string[] | null;
  readonly days: (typeof EXPIRIES)[number][0];
}

const NEW_TOKEN: TokenForm = { name: '', scopes: ['read'], sites: null, days: '90' };

function CreateToken({ onCreated, onClose }: { onCreated: () => void; onClose: () => void }) {
  const { user } = useSession();
  const { values, set, field } = useFields(NEW_TOKEN);
  const { name, scopes, sites, days } = values;
  const create = async () => {
    const body = { name, scopes, sites, ...(days !== '' && { expiresInDays: Number(days) }) };
    const { token } = await api.POST('/api/v1/tokens', { body });
    onCreated();
    const note = 'Store it where the program reads its secrets.';
    return { title: `The token ${name}`, note, label: 'Token', secret: token };
  };
  const offered = SCOPES.filter(([scope]) =>
    scope === 'move' ? mayAdminister(user) : scope === 'read' || mayWrite(user),
  );
  const include = (scope: Scope, isIncluded: boolean) =>
    set({ scopes: isIncluded ? [...scopes, scope] : scopes.filter((other) => other !== scope) });
  return (
    <FormDialog title="Create a token" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        {...field('name')}
        label="Name"
        required
        autofocus
        maxLength={100}
        placeholder="Terraform"
        help="The program that uses it."
      />
      <fieldset>
        <legend>Scopes</legend>
        {offered.map(([scope, title]) => (
          <CheckField
            key={scope}
            label={title}
            value={scopes.includes(scope)}
            onValue={(isIncluded) => include(scope, isIncluded)}
          />
        ))}
      </fieldset>
      <SiteChoice sites={sites} onChange={field('sites').onValue} />
      <SelectField {...field('days')} label="Expires" options={EXPIRIES} />
    </FormDialog>
  );
}

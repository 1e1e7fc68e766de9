import { useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { Badge, Button, CopyText, Time } from '../components/basics.js';
import { Confirm } from '../components/forms/dialog.js';
import { Form, SelectField, TextField } from '../components/forms/fields.js';
import { Empty, Page, Panel } from '../components/frame.js';
import { type Column, PagedTable } from '../components/table.js';
import { useList } from '../hooks/use-pages.js';
import { type Site, useSession } from '../session.js';
import { auditActor } from '../views/audit-view.js';
import { countsText, erasureProof, isNothing, ownErasure } from '../views/erasure-view.js';

/** Erases what is stored about a person, and lists the erasures that the log has recorded. */
export function Erasures({ site: { host } }: { site: Site }) {
  const { isWriter } = useSession();
  const pages = useList('/api/v1/sites/{site}/erasures', { path: { site: host } });
  return (
    <Page title="Erasures" note={`Personal data that was erased at ${host}`}>
      {isWriter && <ErasePerson key={host} site={host} onErased={pages.reload} />}
      <Panel title="Recorded erasures" note="Each is an event of the log, which says nothing about the person">
        <PagedTable
          label="Recorded erasures"
          pages={pages}
          empty={<Empty title="Nothing was erased yet" />}
          rowKey={({ position }) => position}
          columns={COLUMNS}
        />
      </Panel>
    </Page>
  );
}

const COLUMNS: Column<Schemas['RecordedErasure']>[] = [
  { title: 'Time', cell: ({ time }) => <Time time={time} /> },
  {
    title: 'What',
    cell: ({ unidentified, expired }) =>
      unidentified || expired ? (
        <Badge tone="plain">{expired ? 'older than kept' : 'expired visits'}</Badge>
      ) : (
        <Badge tone="ok">a person</Badge>
      ),
  },
  { title: 'Who', cell: ({ actor, actorName }) => auditActor(actor, actorName) },
  { title: 'Events', kind: 'number', cell: ({ events }) => events },
  { title: 'Identifiers', kind: 'number', cell: ({ identifiers }) => identifiers },
  { title: 'Dedup keys', kind: 'number', cell: ({ claims }) => claims },
  { title: 'Position', kind: 'number', isMinor: true, cell: ({ position }) => position },
];

/** By what the person is named: its title, and the field of the request. */
const NAMES = [
  ['email', 'Email'],
  ['phone', 'Phone'],
  ['externalId', 'External id'],
  ['clickId', 'Click id'],
] as const;
type Name = (typeof NAMES)[number][0];

interface Person {
  readonly name: Name;
  readonly text: string;
}

interface Found {
  readonly person: Person;
  readonly counts: Schemas['Erasure'];
}

/** Erases a person. What names the person is neither kept nor part of the address of the page. */
function ErasePerson({ site, onErased }: { site: string; onErased: () => void }) {
  const { user } = useSession();
  const [name, setName] = useState<Name>('email');
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found>();
  const [isAsking, setAsking] = useState(false);
  const [proof, setProof] = useState<string>();
  const path = { site };
  const request = (person: Person, dryRun: boolean) =>
    api.POST('/api/v1/sites/{site}/erasures', { path, body: bodyOf(person, dryRun) });
  const find = async () => {
    const person = { name, text: text.trim() };
    setProof(undefined);
    setFound(undefined);
    setFound({ person, counts: await request(person, true) });
  };
  const erase = async (person: Person) => {
    await request(person, false);
    setText('');
    setFound(undefined);
    onErased();
    // What is left is asked for again rather than inferred.
    const [left, { items }] = await Promise.all([
      request(person, true),
      api.GET('/api/v1/sites/{site}/erasures', { path }),
    ]);
    const recorded = ownErasure(items, user.id);
    if (recorded) setProof(erasureProof(site, recorded, left));
  };
  return (
    <Panel title="Erase a person" note="Hashes, identifiers and visits; events and totals stay">
      <Form
        class="pad form"
        verb="Count what is stored"
        isMinor={found !== undefined}
        otherButtons={found && <Button kind="danger" label="Erase …" onClick={() => setAsking(true)} />}
        onSubmit={find}
      >
        <SelectField
          label="Known by"
          options={NAMES}
          value={name}
          onValue={(value) => {
            setName(value);
            setFound(undefined);
          }}
        />
        <TextField
          label={titleOf(name)}
          type={name === 'email' ? 'email' : 'text'}
          required
          autocomplete="off"
          help={`What ${site} has stored about this person is counted first, and nothing is erased by it.`}
          value={text}
          onValue={(value) => {
            setText(value);
            setFound(undefined);
          }}
        />
        {found && <Counts site={site} counts={found.counts} />}
        {proof !== undefined && (
          <div role="status">
            <p>The person is erased. Keep this as the proof:</p>
            <CopyText label="Proof" text={proof} />
          </div>
        )}
      </Form>
      {found && isAsking && (
        <Confirm
          title={`Erase ${found.person.text} at ${site}?`}
          verb="Erase"
          onClose={() => setAsking(false)}
          onSubmit={() => erase(found.person)}
        >
          {isNothing(found.counts) ? 'Nothing is stored at the moment. ' : `This deletes ${countsText(found.counts)}. `}
          The files of exports of {site} are deleted as well, because they may contain the person. Events and totals
          stay. What platforms have received stays there. It cannot be undone.
        </Confirm>
      )}
    </Panel>
  );
}

function titleOf(name: Name): string {
  return NAMES.find(([each]) => each === name)?.[1] as string;
}

function bodyOf({ name, text }: Person, dryRun: boolean) {
  switch (name) {
    case 'email':
      return { email: text, dryRun };
    case 'phone':
      return { phone: text, dryRun };
    case 'externalId':
      return { externalId: text, dryRun };
    case 'clickId':
      return { clickId: text, dryRun };
  }
}

function Counts({ site, counts }: { site: string; counts: Schemas['Erasure'] }) {
  return (
    <div role="status">
      <p>
        Stored at {site}: <strong>{countsText(counts)}</strong>.
      </p>
      {isNothing(counts) && (
        <p class="dim">An erasure is recorded all the same, and is repeated after a restore from a backup.</p>
      )}
      {counts.alsoIn && (
        <p>
          The site was moved, and there is a copy in another cell: {counts.alsoIn.join(', ')}. Erase the person there,
          too.
        </p>
      )}
    </div>
  );
}

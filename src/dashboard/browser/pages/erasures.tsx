import { useState } from 'preact/hooks';
import { api, dataOf, type Schemas } from '../api.js';
import { Badge } from '../components/badge.js';
import { CopyText } from '../components/copy.js';
import { Confirm } from '../components/forms/confirm.js';
import { TextField } from '../components/forms/field.js';
import { Paged } from '../components/paged.js';
import { Page, Panel } from '../components/panel.js';
import { Empty, ProblemNote } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { formatNumber } from '../format.js';
import { useAction } from '../hooks/use-data.js';
import { usePages } from '../hooks/use-pages.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { auditActor } from '../views/audit-view.js';
import { countsText, erasureProof, isNothing, ownErasure } from '../views/erasure-view.js';

type Recorded = Schemas['RecordedErasure'];

/** Erases what is stored about a person, and lists the erasures that the log has recorded. */
export function Erasures({ site }: { site: Site }) {
  const { user } = useSession();
  const pages = usePages<Recorded>(`erasures ${site.host}`, (cursor) => readErasures(site.host, cursor));
  return (
    <Page title="Erasures" note={`Personal data that was erased at ${site.host}`}>
      {mayWrite(user) && <ErasePerson key={site.host} site={site.host} onErased={pages.reload} />}
      <Panel title="Recorded erasures" note="Each is an event of the log, which says nothing about the person">
        <Paged pages={pages} empty={<Empty title="Nothing was erased yet" />}>
          {(items) => (
            <Table label="Recorded erasures" rows={items} rowKey={({ position }) => position} columns={COLUMNS} />
          )}
        </Paged>
      </Panel>
    </Page>
  );
}

const COLUMNS = [
  { title: 'Time', cell: ({ time }: Recorded) => <Time time={time} /> },
  {
    title: 'What',
    cell: ({ unidentified }: Recorded) =>
      unidentified ? <Badge tone="plain">expired visits</Badge> : <Badge tone="ok">a person</Badge>,
  },
  { title: 'Who', cell: ({ actor, actorName }: Recorded) => auditActor(actor, actorName) },
  { title: 'Events', isNumber: true, cell: ({ events }: Recorded) => formatNumber(events) },
  { title: 'Identifiers', isNumber: true, cell: ({ identifiers }: Recorded) => formatNumber(identifiers) },
  { title: 'Dedup keys', isNumber: true, cell: ({ claims }: Recorded) => formatNumber(claims) },
  { title: 'Position', isNumber: true, isMinor: true, cell: ({ position }: Recorded) => formatNumber(position) },
];

function readErasures(site: string, cursor?: number) {
  const query = cursor === undefined ? {} : { cursor };
  return dataOf(api.GET('/api/v1/sites/{site}/erasures', { params: { path: { site }, query } }));
}

interface Found {
  readonly email: string;
  readonly counts: Schemas['Erasure'];
}

/** Erases the person with an address, which is neither kept nor part of the address of the page. */
function ErasePerson({ site, onErased }: { site: string; onErased: () => void }) {
  const { user } = useSession();
  const [email, setEmail] = useState('');
  const [found, setFound] = useState<Found>();
  const [isAsking, setAsking] = useState(false);
  const [proof, setProof] = useState<string>();
  const action = useAction();
  const request = (address: string, dryRun: boolean) =>
    dataOf(api.POST('/api/v1/sites/{site}/erasures', { params: { path: { site } }, body: { email: address, dryRun } }));
  const find = () =>
    action.run(async () => {
      const address = email.trim();
      setProof(undefined);
      setFound(undefined);
      setFound({ email: address, counts: await request(address, true) });
    });
  const erase = async (address: string) => {
    await request(address, false);
    setEmail('');
    setFound(undefined);
    onErased();
    // What is left is asked for again rather than inferred.
    const [left, { items }] = await Promise.all([request(address, true), readErasures(site)]);
    const recorded = ownErasure(items, user.id);
    if (recorded) setProof(erasureProof(site, recorded, left));
  };
  return (
    <Panel title="Erase a person" note="Hashes, identifiers and visits; events and totals stay">
      <form
        class="pad form"
        onSubmit={(event) => {
          event.preventDefault();
          void find();
        }}
      >
        <TextField
          label="Email"
          type="email"
          required
          autocomplete="off"
          help={`What ${site} has stored about this person is counted first, and nothing is erased by it.`}
          value={email}
          onValue={(value) => {
            setEmail(value);
            setFound(undefined);
          }}
        />
        <ProblemNote problem={action.problem} />
        {found && (
          <div role="status">
            <p>
              Stored at {site}: <strong>{countsText(found.counts)}</strong>.
            </p>
            {isNothing(found.counts) && (
              <p class="dim">An erasure is recorded all the same, and is repeated after a restore from a backup.</p>
            )}
            {found.counts.alsoIn && (
              <p>
                The site was moved, and there is a copy in another cell: {found.counts.alsoIn.join(', ')}. Erase the
                person there, too.
              </p>
            )}
          </div>
        )}
        {proof !== undefined && (
          <div role="status">
            <p>The person is erased. Keep this as the proof:</p>
            <CopyText label="Proof" text={proof} />
          </div>
        )}
        <div class="buttons">
          {found && (
            <button type="button" class="danger" onClick={() => setAsking(true)}>
              Erase …
            </button>
          )}
          <button type="submit" class={found ? '' : 'primary'} disabled={action.isBusy}>
            Count what is stored
          </button>
        </div>
      </form>
      {found && isAsking && (
        <Confirm
          title={`Erase ${found.email} at ${site}?`}
          verb="Erase"
          onClose={() => setAsking(false)}
          onConfirm={() => erase(found.email)}
        >
          {isNothing(found.counts) ? 'Nothing is stored at the moment. ' : `This deletes ${countsText(found.counts)}. `}
          The files of exports of {site} are deleted as well, because they may contain the person. Events and totals
          stay. What platforms have received stays there. It cannot be undone.
        </Confirm>
      )}
    </Panel>
  );
}

import { useCallback, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api } from '../api.js';
import { Badge, Button, Time } from '../components/basics.js';
import { Confirm, Dialog } from '../components/forms/dialog.js';
import { Empty, Page, Panel, ProblemNote } from '../components/frame.js';
import { PagedTable, Table } from '../components/table.js';
import { attempt } from '../components/toasts.js';
import { counted, formatNumber, formatShare } from '../format.js';
import { useData, useInterval } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { useList } from '../hooks/use-pages.js';
import { withQuery } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import { hasSomethingToSend, isActive, type Job, jobOutcome, jobTitle, jobTone } from '../views/job-view.js';
import { differenceRows, isShadowResult } from '../views/shadow-view.js';
import { NewJob } from './new-job.js';

const POLL_MS = 2_000;

const readJob = (id: string) => api.GET('/api/v1/jobs/{id}', { path: { id } });

/** Exports, replays and shadow replays of a site, with their progress and results. The address names an opened result. */
export function History({ site: { host } }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { isWriter } = useSession();
  const pages = useList('/api/v1/jobs', { query: { site: host, limit: 25 } });
  // Jobs that run are asked for one by one, so that earlier pages stay.
  const [newer, setNewer] = useState<ReadonlyMap<string, Job>>(new Map());
  const items = pages.items?.map((job) => newer.get(job.id) ?? job);
  const active = items?.filter(isActive).map(({ id }) => id) ?? [];
  const poll = useCallback(() => {
    for (const id of active)
      readJob(id).then(
        (job) => setNewer((before) => new Map([...before, [id, job]])),
        // The next poll asks again.
        () => {},
      );
  }, [active.join()]);
  useInterval(poll, POLL_MS, active.length > 0);
  const reload = () => {
    setNewer(new Map());
    pages.reload();
  };
  const dialog = useDialog(isWriter);
  // The address may name a job of an earlier page.
  const { job: named } = query;
  const opened = useData(`job ${named}`, async () => (named === undefined ? undefined : readJob(named)));
  return (
    <Page
      title="History"
      note="Export events, send deliveries again, or replay the past with other rules"
      actions={isWriter && <Button kind="primary" label="New job" onClick={() => dialog.open('new')} />}
    >
      <ProblemNote problem={opened.problem} retry={opened.reload} />
      <Panel>
        <PagedTable
          label="Jobs"
          pages={{ ...pages, items }}
          empty={
            <Empty title="No job in the last week">A job runs in the background; this page need not stay open.</Empty>
          }
          rowKey={({ id }) => id}
          columns={[
            { title: 'Started', cell: ({ createdAt }) => <Time time={createdAt} /> },
            { title: 'Job', cell: (job) => <strong>{jobTitle(job)}</strong> },
            { title: 'State', cell: (job) => <State job={job} /> },
            { title: 'Result', kind: 'text', cell: (job) => <span class="dim">{jobOutcome(job)}</span> },
            {
              title: 'Next',
              kind: 'action',
              cell: (job) =>
                isShadowResult(job.result) ? (
                  <a class="button" href={withQuery(path, { job: job.id })}>
                    Show the difference
                  </a>
                ) : (
                  isWriter && <Next site={host} job={job} onChanged={reload} />
                ),
            },
          ]}
        />
      </Panel>
      {dialog.opened === 'new' && <NewJob site={host} onCreated={reload} onClose={dialog.close} />}
      {opened.data?.site === host && <ShadowDialog key={named} job={opened.data} onClose={() => route(path, true)} />}
    </Page>
  );
}

function State({ job }: { job: Job }) {
  const { state } = job;
  const progress = state === 'running' ? job.progress : undefined;
  return (
    <>
      <Badge tone={jobTone(job)}>
        {state}
        {progress && ` · ${formatShare(progress.done)}`}
      </Badge>
      {progress && <progress class="bar" aria-label={`Progress of ${jobTitle(job)}`} value={progress.done} max={1} />}
    </>
  );
}

/** Download, send what a dry run counted, or cancel. */
function Next({ site, job, onChanged }: { site: string; job: Job; onChanged: () => void }) {
  const { id, file } = job;
  const [isSending, setSending] = useState(false);
  const cancel = () =>
    attempt(async () => {
      await api.DELETE('/api/v1/jobs/{id}', { path: { id } });
      onChanged();
      return 'The job is cancelled';
    });
  const send = async () => {
    await api.POST('/api/v1/sites/{site}/jobs', { path: { site }, body: { kind: 'replay', dryRun: id } });
    onChanged();
  };
  if (isActive(job)) return <Button kind="quiet" label="Cancel" onClick={cancel} />;
  if (file)
    return (
      <a class="button" href={`/api/v1/jobs/${id}/file`} download>
        Download {formatNumber(Math.ceil(file.bytes / 1_000))} kB
      </a>
    );
  if (!hasSomethingToSend(job)) return null;
  return (
    <>
      <Button label="Send these" onClick={() => setSending(true)} />
      {isSending && (
        <Confirm title="Send again" verb="Send" onSubmit={send} onClose={() => setSending(false)}>
          What this dry run counted is sent to the platform again. It cannot be undone.
        </Confirm>
      )}
    </>
  );
}

/** The difference between what happened and what other rules would have done. */
function ShadowDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  if (!isShadowResult(job.result)) return null;
  const { undecided } = job.result;
  return (
    <Dialog title="Difference of the shadow replay" closeLabel="Close" onClose={onClose}>
      <Table
        label="Differences"
        rows={differenceRows(job.result)}
        rowKey={({ of, was, would }) => `${of} ${was} ${would}`}
        empty={<Empty title="No difference">Every conversion and delivery would have ended as it did.</Empty>}
        columns={[
          { title: 'Of', cell: ({ of }) => <strong>{of}</strong> },
          { title: 'Was', kind: 'text', cell: ({ was }) => was },
          { title: 'Would be', kind: 'text', cell: ({ would }) => would },
          { title: 'Number', kind: 'number', cell: ({ count }) => count },
        ]}
      />
      {undecided > 0 && <p class="dim">{counted(undecided, 'conversion')} of erased people cannot be decided again.</p>}
    </Dialog>
  );
}

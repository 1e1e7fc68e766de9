import { useCallback, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { Confirm } from '../components/forms/confirm.js';
import { Paged } from '../components/paged.js';
import { Page } from '../components/panel.js';
import { Empty, ProblemNote } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { attempt } from '../components/toasts.js';
import { formatNumber, formatShare } from '../format.js';
import { useData, useInterval } from '../hooks/use-data.js';
import { useDialog } from '../hooks/use-dialog.js';
import { usePages } from '../hooks/use-pages.js';
import { withQuery } from '../navigation.js';
import { mayWrite, type Site, useSession } from '../session.js';
import { hasSomethingToSend, isActive, type Job, jobOutcome, jobTitle, jobTone } from '../views/job-view.js';
import { isShadowResult } from '../views/shadow-view.js';
import { NewJob } from './new-job.js';
import { ShadowDialog } from './shadow-dialog.js';

const POLL_MS = 2_000;

/** Exports, replays and shadow replays of a site, with their progress and results. The address names an opened result. */
export function History({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const { user } = useSession();
  const pages = usePages<Job, string>(`jobs ${site.host}`, (cursor) =>
    dataOf(
      api.GET('/api/v1/jobs', {
        params: { query: { site: site.host, limit: 25, ...(cursor !== undefined && { cursor }) } },
      }),
    ),
  );
  // Jobs that run are asked for one by one, so that earlier pages stay.
  const [newer, setNewer] = useState<ReadonlyMap<string, Job>>(new Map());
  const items = pages.items?.map((job) => newer.get(job.id) ?? job);
  const active = items?.filter(isActive).map(({ id }) => id) ?? [];
  const poll = useCallback(() => {
    for (const id of active)
      dataOf(api.GET('/api/v1/jobs/{id}', { params: { path: { id } } })).then(
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
  const dialog = useDialog();
  const isWriter = mayWrite(user);
  // The address may name a job of an earlier page.
  const { job: named } = query;
  const opened = useData(`job ${named}`, async () =>
    named === undefined ? undefined : dataOf(api.GET('/api/v1/jobs/{id}', { params: { path: { id: named } } })),
  );
  return (
    <Page
      title="History"
      note="Export events, send deliveries again, or replay the past with other rules"
      actions={
        isWriter && (
          <button type="button" class="primary" onClick={() => dialog.open('new')}>
            New job
          </button>
        )
      }
    >
      <ProblemNote problem={opened.problem} retry={opened.reload} />
      <section class="panel">
        <Paged
          pages={pages}
          empty={
            <Empty title="No job in the last week">A job runs in the background; this page need not stay open.</Empty>
          }
        >
          {() => (
            <Table
              label="Jobs"
              rows={items ?? []}
              rowKey={({ id }) => id}
              columns={[
                { title: 'Started', cell: ({ createdAt }) => <Time time={createdAt} /> },
                { title: 'Job', cell: (job) => <strong>{jobTitle(job)}</strong> },
                { title: 'State', cell: (job) => <State job={job} /> },
                { title: 'Result', isText: true, cell: (job) => <span class="dim">{jobOutcome(job)}</span> },
                {
                  title: 'Next',
                  isAction: true,
                  cell: (job) =>
                    isShadowResult(job.result) ? (
                      <a class="button" href={withQuery(path, { job: job.id })}>
                        Show the difference
                      </a>
                    ) : (
                      isWriter && <Next site={site.host} job={job} onChanged={reload} />
                    ),
                },
              ]}
            />
          )}
        </Paged>
      </section>
      {dialog.opened === 'new' && isWriter && <NewJob site={site.host} onCreated={reload} onClose={dialog.close} />}
      {opened.data?.site === site.host && (
        <ShadowDialog key={named} job={opened.data} onClose={() => route(path, true)} />
      )}
    </Page>
  );
}

function State({ job }: { job: Job }) {
  const { state, progress } = job;
  return (
    <>
      <Badge tone={jobTone(job)}>
        {state}
        {state === 'running' && progress && ` · ${formatShare(progress.done)}`}
      </Badge>
      {state === 'running' && progress && (
        <progress class="bar" aria-label={`Progress of ${jobTitle(job)}`} value={progress.done} max={1} />
      )}
    </>
  );
}

/** Download, send what a dry run counted, or cancel. */
function Next({ site, job, onChanged }: { site: string; job: Job; onChanged: () => void }) {
  const { id, file } = job;
  const cancel = () =>
    attempt(async () => {
      await dataOf(api.DELETE('/api/v1/jobs/{id}', { params: { path: { id } } }));
      onChanged();
      return 'The job is cancelled';
    });
  const [isSending, setSending] = useState(false);
  const send = async () => {
    const body = { kind: 'replay' as const, dryRun: id };
    await dataOf(api.POST('/api/v1/sites/{site}/jobs', { params: { path: { site } }, body }));
    onChanged();
  };
  if (isActive(job))
    return (
      <button type="button" class="quiet" onClick={() => void cancel()}>
        Cancel
      </button>
    );
  if (file)
    return (
      <a class="button" href={`/api/v1/jobs/${id}/file`} download>
        Download {formatNumber(Math.ceil(file.bytes / 1_000))} kB
      </a>
    );
  if (hasSomethingToSend(job))
    return (
      <>
        <button type="button" onClick={() => setSending(true)}>
          Send these
        </button>
        {isSending && (
          <Confirm title="Send again" verb="Send" onConfirm={send} onClose={() => setSending(false)}>
            What this dry run counted is sent to the platform again. It cannot be undone.
          </Confirm>
        )}
      </>
    );
  return null;
}

import { useEffect } from 'preact/hooks';
import { siteUrl } from '../curl-line.js';
import { useGet, useInterval } from '../hooks/use-data.js';
import { useSession } from '../session.js';
import { Badge, Time } from './basics.js';
import { LoadProblem } from './frame.js';

const POLL_MS = 5_000;

/** Whether the tag reported a visit, and from where. Asks again until it has. */
export function TagCheck({ site, onSeen }: { site: string; onSeen?: () => void }) {
  const { data, problem, reload } = useGet('/api/v1/sites/{site}/tag', { path: { site } });
  const isSeen = data?.seenAt !== undefined;
  useInterval(reload, POLL_MS, data !== undefined && !isSeen);
  useEffect(() => {
    if (isSeen) onSeen?.();
  }, [isSeen]);
  const test = `${siteUrl(site, useSession().localUrl)}/?utm_source=tag-check`;
  return (
    <div role="status">
      <LoadProblem problem={problem} retry={reload} />
      {data && isSeen && (
        <p>
          <Badge tone="ok">seen</Badge> <Time time={data.seenAt} as="age" />
          {data.host !== undefined && ' on '}
          {data.host !== undefined && <code>{data.host}</code>}
        </p>
      )}
      {data && !isSeen && (
        <p>
          <Badge tone="wait">not seen yet</Badge>{' '}
          {data.complete ? '' : 'Not among the latest events, which were searched. '}
          Visits are reported when they come from an ad or a campaign. Open{' '}
          <a href={test} target="_blank" rel="noreferrer">
            {test}
          </a>{' '}
          to check.
        </p>
      )}
    </div>
  );
}

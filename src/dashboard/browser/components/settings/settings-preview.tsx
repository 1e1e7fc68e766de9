import { api, dataOf, type Schemas } from '../../api.js';
import { useData } from '../../hooks/use-data.js';
import { useSettled } from '../../hooks/use-settled.js';
import { pauseUntil, retryOnce } from '../../retry-once.js';
import { isExamined, type PreviewTopic, previewSentences } from '../../views/settings-preview-view.js';
import { Loading, ProblemNote } from '../states.js';
import { Time } from '../time.js';

type Change = Partial<Schemas['SiteSettingsChange']>;

interface SettingsPreviewProps {
  site: string;
  about: PreviewTopic;
  change: Change;
}

/** What a change of settings would have done in the last seven days. Nothing is changed. */
export function SettingsPreview({ site, about, change }: SettingsPreviewProps) {
  const text = JSON.stringify(change);
  const wanted = useSettled(text);
  return (
    <div class="preview" role="status">
      {text === NONE ? (
        <p class="dim">Change a setting to see what it would have done in the last 7 days.</p>
      ) : wanted === NONE ? (
        <Loading />
      ) : (
        <Effect site={site} about={about} change={wanted} />
      )}
    </div>
  );
}

const NONE = '{}';

/** The change is JSON. */
function Effect({ site, about, change }: Omit<SettingsPreviewProps, 'change'> & { change: string }) {
  const { data, problem, reload } = useData(`preview ${site} ${change}`, (signal) => {
    const body = JSON.parse(change) as Change;
    const request = () =>
      api.POST('/api/v1/sites/{site}/settings/preview', { params: { path: { site } }, body, signal });
    // Only a few previews run at once.
    return dataOf(retryOnce(request, pauseUntil(signal)));
  });
  return (
    <>
      <strong>
        {data && !data.complete && isExamined(data) ? (
          <>
            Since <Time time={data.from} />
          </>
        ) : (
          'The last 7 days'
        )}
      </strong>
      <ProblemNote problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && (
        <>
          {previewSentences(about, data).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
          <p class="dim">
            As of <Time time={data.to} />
            {!data.complete && '. There was too much to examine the last 7 days at once'}
          </p>
        </>
      )}
    </>
  );
}

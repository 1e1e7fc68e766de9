import { api } from '../../api.js';
import { useData } from '../../hooks/use-data.js';
import { useSettled } from '../../hooks/use-settled.js';
import type { SettingsChange } from '../../hooks/use-site-settings.js';
import { pauseUntil, retryOnce } from '../../retry-once.js';
import { isExamined, type PreviewTopic, previewSentences } from '../../views/settings-preview-view.js';
import { Time } from '../basics.js';
import { Loading, ProblemNote } from '../frame.js';

interface SettingsPreviewProps {
  site: string;
  about: PreviewTopic;
  change: SettingsChange;
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
    const input = { path: { site }, body: JSON.parse(change) as SettingsChange, signal };
    // Only a few previews run at once.
    return retryOnce(() => api.POST('/api/v1/sites/{site}/settings/preview', input), pauseUntil(signal));
  });
  const isPart = data && !data.complete && isExamined(data);
  return (
    <>
      <strong>
        {isPart ? 'Since ' : 'The last 7 days'}
        {isPart && <Time time={data.from} />}
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

import { api, dataOf, type Schemas } from '../api.js';
import { type PreviewTopic, previewSentences } from '../settings-preview-view.js';
import { useData } from '../use-data.js';
import { useSettled } from '../use-settled.js';
import { Loading, ProblemNote } from './states.js';
import { Time } from './time.js';

type Change = Partial<Schemas['SiteSettingsChange']>;

interface SettingsPreviewProps {
  site: string;
  about: PreviewTopic;
  change: Change;
}

/** What a change of settings would have done in the last seven days. Nothing is changed. */
export function SettingsPreview({ site, about, change }: SettingsPreviewProps) {
  const wanted = useSettled(JSON.stringify(change));
  const { data, problem, reload } = useData(`preview ${site} ${wanted}`, () =>
    dataOf(
      api.POST('/api/v1/sites/{site}/settings/preview', {
        params: { path: { site } },
        body: JSON.parse(wanted) as Change,
      }),
    ),
  );
  return (
    <div class="preview" role="status">
      <strong>
        {data && !data.complete ? (
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
    </div>
  );
}

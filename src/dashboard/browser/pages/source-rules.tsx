import { useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { CopyJson } from '../components/basics.js';
import { FormDialog } from '../components/forms/dialog.js';
import { Field, SelectField } from '../components/forms/fields.js';
import { Loading } from '../components/frame.js';
import { useData } from '../hooks/use-data.js';
import { useSettled } from '../hooks/use-settled.js';
import { readRules, sampleOf, sampleOptions } from '../views/source-rules-view.js';

interface SourceRulesProps {
  site: string;
  source: Schemas['InboundSource']['source'];
  label: string;
  fixtures: readonly string[];
  deliveries: Schemas['InboundSource']['deliveries'];
  /** The changes of the site, a rule per line. */
  changes: string;
  onSaved(): void;
  onClose(): void;
}

/** Edits the rules of the site, beside what one of the newest deliveries, or a documented one, becomes by them. */
export function SourceRules({
  site,
  source,
  label,
  fixtures,
  deliveries,
  changes,
  onSaved,
  onClose,
}: SourceRulesProps) {
  const [text, setText] = useState(changes);
  const samples = sampleOptions(deliveries, fixtures);
  const [sample, setSample] = useState(samples[0]?.[0] ?? '');
  const path = { site, source };
  const save = async () => {
    const mapping = readRules(text);
    if (typeof mapping === 'string') throw new Error(`"${mapping}" is no rule.`);
    await api.PUT('/api/v1/sites/{site}/inbound-sources/{source}/mapping', { path, body: { mapping } });
    onSaved();
    return undefined;
  };
  return (
    <FormDialog title={`Rules of ${label}`} verb="Save" onSubmit={save} onClose={onClose}>
      <Field
        label="Changes, one rule per line"
        help="topic:field=expression. Without an expression, the rule of the source is removed."
      >
        {(props: object) => (
          <textarea
            {...props}
            rows={6}
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        )}
      </Field>
      <SelectField
        label="Try it with"
        help="Of a delivery, what was stored is read: what the rules read then, without what is about the person and the visit."
        value={sample}
        options={samples}
        onValue={setSample}
      />
      <Tried site={site} source={source} sample={sample} text={text} />
    </FormDialog>
  );
}

function Tried({
  site,
  source,
  sample,
  text,
}: Pick<SourceRulesProps, 'site' | 'source'> & { sample: string; text: string }) {
  const settled = useSettled(text);
  const tried = useData(`${source} ${sample} ${settled}`, async () => {
    const mapping = readRules(settled);
    if (typeof mapping === 'string') throw new Error(`"${mapping}" is no rule.`);
    const path = { site, source };
    return api.POST('/api/v1/sites/{site}/inbound-sources/{source}/try', {
      path,
      body: { ...sampleOf(sample), mapping },
    });
  });
  if (tried.problem) return <p role="alert">{tried.problem.detail}</p>;
  if (!tried.data) return <Loading />;
  return <CopyJson label="What it becomes" value={tried.data} />;
}

import { useState } from 'preact/hooks';
import { api, type Schemas } from '../api.js';
import { CopyJson } from '../components/basics.js';
import { FormDialog } from '../components/forms/dialog.js';
import { Field, SelectField } from '../components/forms/fields.js';
import { Loading } from '../components/frame.js';
import { useData } from '../hooks/use-data.js';
import { useSettled } from '../hooks/use-settled.js';
import { readRules } from '../views/source-rules-view.js';

interface SourceRulesProps {
  site: string;
  source: Schemas['InboundSource']['source'];
  label: string;
  fixtures: readonly string[];
  /** The changes of the site, a rule per line. */
  changes: string;
  onSaved(): void;
  onClose(): void;
}

/** Edits the rules of the site, beside what a documented delivery becomes by them. */
export function SourceRules({ site, source, label, fixtures, changes, onSaved, onClose }: SourceRulesProps) {
  const [text, setText] = useState(changes);
  const [fixture, setFixture] = useState(fixtures[0] ?? '');
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
        value={fixture}
        options={fixtures.map((name) => [name, name] as const)}
        onValue={setFixture}
      />
      <Tried site={site} source={source} fixture={fixture} text={text} />
    </FormDialog>
  );
}

function Tried({
  site,
  source,
  fixture,
  text,
}: Pick<SourceRulesProps, 'site' | 'source'> & { fixture: string; text: string }) {
  const settled = useSettled(text);
  const tried = useData(`${source} ${fixture} ${settled}`, async () => {
    const mapping = readRules(settled);
    if (typeof mapping === 'string') throw new Error(`"${mapping}" is no rule.`);
    const path = { site, source };
    return api.POST('/api/v1/sites/{site}/inbound-sources/{source}/try', { path, body: { fixture, mapping } });
  });
  if (tried.problem) return <p role="alert">{tried.problem.detail}</p>;
  if (!tried.data) return <Loading />;
  return <CopyJson label="What it becomes" value={tried.data} />;
}

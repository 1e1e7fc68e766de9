import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../api.js';
import { Badge, Button, CopyText } from '../components/basics.js';
import { EventFeed } from '../components/event-feed.js';
import { Form, SelectField } from '../components/forms/fields.js';
import { Empty, Page, Panel, ProblemNote, Show } from '../components/frame.js';
import { TagCheck } from '../components/tag-check.js';
import { toast } from '../components/toasts.js';
import { curlLine, tagSnippet } from '../curl-line.js';
import { connectionTitle } from '../format.js';
import { useAction, useGet } from '../hooks/use-data.js';
import { useSiteProgress } from '../hooks/use-site-progress.js';
import { pathOf } from '../navigation.js';
import { type Site, useSession } from '../session.js';
import { completesStep, firstSteps, nextStep, progressText, type StepName } from '../views/first-steps-view.js';
import { SetWebhook } from './set-webhook.js';

/** Walks through what a new site needs until a conversion is delivered, with what happens at the site beside it. */
export function FirstSteps({ site }: { site: Site }) {
  const { isWriter, localUrl } = useSession();
  const progress = useSiteProgress(site.host);
  const { reload } = progress;
  // Kept while the page is open, so that the line to paste has it. It is stored nowhere.
  const [key, setKey] = useState<string>();
  if (!isWriter)
    return (
      <Page title="First steps">
        <Empty title="Analysts change nothing">An operator or an administrator sets the site up.</Empty>
      </Page>
    );
  const parts: Readonly<Record<StepName, (isDone: boolean) => ComponentChildren>> = {
    key: (isDone) => <KeyStep site={site.host} isDone={isDone} onCreated={setKey} onChanged={reload} />,
    conversion: (isDone) => <ConversionStep site={site.host} apiKey={key} isDone={isDone} onSent={reload} />,
    tag: (isDone) => (
      <details open={!isDone}>
        <summary>Snippet for the head of every page</summary>
        <CopyText label="Snippet" text={tagSnippet(site.host, localUrl)} />
        <TagCheck site={site.host} onSeen={reload} />
      </details>
    ),
    platform: (isDone) => <PlatformStep site={site.host} isDone={isDone} onConnected={reload} />,
    webhook: (isDone) => <WebhookStep site={site.host} isDone={isDone} onSet={reload} />,
  };
  return (
    <Page title="First steps" note={`Until the conversions of ${site.host} are delivered`}>
      <Show of={progress}>
        {(data) => {
          const steps = firstSteps(data);
          const next = nextStep(steps);
          return (
            <div class="two">
              <Panel label="Steps" title={next ? progressText(steps) : 'Everything is set up'}>
                <ol class="walk">
                  {steps.map(({ name, title, text, isDone }) => (
                    <li key={name} aria-current={name === next?.name ? 'step' : undefined}>
                      <h3>
                        {title} <span class="dim">{text}</span> {isDone && <Badge tone="ok">done</Badge>}
                      </h3>
                      {parts[name](isDone)}
                    </li>
                  ))}
                </ol>
              </Panel>
              <EventFeed site={site.host} onEvents={(events) => completesStep(data, events) && reload()} />
            </div>
          );
        }}
      </Show>
    </Page>
  );
}

interface KeyStepProps {
  site: string;
  isDone: boolean;
  onCreated(key: string): void;
  onChanged(): void;
}

function KeyStep({ site, isDone, onCreated, onChanged }: KeyStepProps) {
  const action = useAction();
  const create = () =>
    action.run(async () => {
      const body = { name: 'First key', trial: false };
      onCreated((await api.POST('/api/v1/sites/{site}/keys', { path: { site }, body })).key);
      onChanged();
    });
  return (
    <>
      <ProblemNote problem={action.problem} />
      <Button
        kind={isDone ? undefined : 'primary'}
        label={isDone ? 'Create another key' : 'Create a key'}
        isDisabled={action.isBusy}
        onClick={create}
      />{' '}
      {isDone && <a href={pathOf(site, 'keys')}>All keys</a>}
    </>
  );
}

interface ConversionStepProps {
  site: string;
  /** That was created here. */
  apiKey: string | undefined;
  isDone: boolean;
  onSent(): void;
}

function ConversionStep({ site, apiKey, isDone, onSent }: ConversionStepProps) {
  const { localUrl } = useSession();
  const action = useAction();
  const send = (key: string) =>
    action.run(async () => {
      await api.POST('/api/v1/sites/{site}/test-conversion', { path: { site }, body: { key } });
      toast('A test conversion was sent');
      onSent();
    });
  return (
    <>
      <ProblemNote problem={action.problem} />
      {apiKey !== undefined && (
        <p>
          <Button
            kind={isDone ? undefined : 'primary'}
            label="Send a test conversion"
            isDisabled={action.isBusy}
            onClick={() => send(apiKey)}
          />{' '}
          <span class="dim">or paste the line into a terminal:</span>
        </p>
      )}
      <CopyText label="Request" text={curlLine(site, apiKey ?? 'cc_…', localUrl)} />
      <p class="dim">
        {apiKey === undefined
          ? 'Replace cc_… by a key. A new key is put into the line.'
          : 'The line has the new key, which is shown this once: store it where the sending system reads its secrets.'}
      </p>
      {!isDone && (
        <p role="status">
          <Badge tone="wait">waiting</Badge> The first conversion appears here within a second.
        </p>
      )}
    </>
  );
}

function PlatformStep({ site, isDone, onConnected }: { site: string; isDone: boolean; onConnected: () => void }) {
  const { sandboxUrl } = useSession();
  return (
    <>
      {!isDone && sandboxUrl !== undefined && (
        <ConnectToSandbox site={site} sandboxUrl={sandboxUrl} onConnected={onConnected} />
      )}
      <p>
        {isDone ? (
          <>
            Send another conversion with the line above, and see it delivered.{' '}
            <a href={pathOf(site, 'integrations')}>All integrations</a>
          </>
        ) : (
          <a href={pathOf(site, 'integrations')}>Connect a real account</a>
        )}
      </p>
    </>
  );
}

function WebhookStep({ site, isDone, onSet }: { site: string; isDone: boolean; onSet: () => void }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <>
      {isDone ? (
        <p>
          <a href={pathOf(site, 'webhook')}>Show its pushes</a>
        </p>
      ) : (
        <Button label="Set the webhook" onClick={() => setEditing(true)} />
      )}
      {/* Also once it is set: the dialog then shows the secret, this once. */}
      {isEditing && <SetWebhook site={site} onSet={onSet} onClose={() => setEditing(false)} />}
    </>
  );
}

interface ConnectToSandboxProps {
  site: string;
  sandboxUrl: string;
  onConnected(): void;
}

/** Connects a platform to the sandbox, which stands in for it: to see deliveries before an account is connected. */
function ConnectToSandbox({ site, sandboxUrl, onConnected }: ConnectToSandboxProps) {
  const { data } = useGet('/api/v1/platforms');
  const [platform, setPlatform] = useState('meta');
  const connect = async () => {
    const path = { site, connection: platform };
    await api.POST('/api/v1/sites/{site}/connections/{connection}/sandbox', { path });
    toast(`${connectionTitle(platform)} is connected to the sandbox`);
    onConnected();
  };
  return (
    <Form class="inline" verb="Connect to the sandbox" isReady={data !== undefined} onSubmit={connect}>
      <SelectField
        label="Platform"
        value={platform}
        options={(data?.items ?? []).map(({ platform: name }) => [name, connectionTitle(name)])}
        onValue={setPlatform}
        help={
          <>
            The sandbox stands in for it: nothing leaves this machine.{' '}
            <a href={sandboxUrl} target="_blank" rel="noreferrer">
              What it received
            </a>
          </>
        }
      />
    </Form>
  );
}

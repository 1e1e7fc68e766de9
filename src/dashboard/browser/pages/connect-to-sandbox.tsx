import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import { SelectField } from '../components/forms/field.js';
import { ProblemNote } from '../components/states.js';
import { toast } from '../components/toasts.js';
import { connectionTitle } from '../format.js';
import { useAction, useData } from '../hooks/use-data.js';

interface ConnectToSandboxProps {
  site: string;
  sandboxUrl: string;
  onConnected(): void;
}

/** Connects a platform to the sandbox, which stands in for it: to see deliveries before an account is connected. */
export function ConnectToSandbox({ site, sandboxUrl, onConnected }: ConnectToSandboxProps) {
  const { data } = useData('platforms', () => dataOf(api.GET('/api/v1/platforms')));
  const [platform, setPlatform] = useState('meta');
  const action = useAction();
  const connect = () =>
    action.run(async () => {
      const params = { path: { site, connection: platform } };
      await dataOf(api.POST('/api/v1/sites/{site}/connections/{connection}/sandbox', { params }));
      toast(`${connectionTitle(platform)} is connected to the sandbox`);
      onConnected();
    });
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        void connect();
      }}
    >
      <SelectField
        label="Platform"
        value={platform}
        options={(data?.items ?? []).map(({ platform: name }) => [name, connectionTitle(name)] as const)}
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
      <ProblemNote problem={action.problem} />
      <button type="submit" class="primary" disabled={action.isBusy || !data}>
        Connect to the sandbox
      </button>
    </form>
  );
}

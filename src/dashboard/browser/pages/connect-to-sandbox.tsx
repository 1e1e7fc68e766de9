import { useState } from 'preact/hooks';
import { api } from '../api.js';
import { Form, SelectField } from '../components/forms/fields.js';
import { toast } from '../components/toasts.js';
import { connectionTitle } from '../format.js';
import { useGet } from '../hooks/use-data.js';

interface ConnectToSandboxProps {
  site: string;
  sandboxUrl: string;
  onConnected(): void;
}

/** Connects a platform to the sandbox, which stands in for it: to see deliveries before an account is connected. */
export function ConnectToSandbox({ site, sandboxUrl, onConnected }: ConnectToSandboxProps) {
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

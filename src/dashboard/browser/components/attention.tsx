import { api } from '../api.js';
import { connectionTitle } from '../format.js';
import { mayOperateAll, useSession } from '../session.js';
import {
  type AttentionAction,
  type AttentionItem,
  attentionAction,
  attentionDetail,
  attentionTitle,
} from '../views/attention-view.js';
import { Button, Time } from './basics.js';
import { Panel } from './frame.js';
import { attempt } from './toasts.js';

interface AttentionProps {
  items: readonly AttentionItem[];
  withSite: boolean;
  onChanged(): void;
}

/** What needs attention, with the button that solves it or the way there. Nothing if all is well. */
export function Attention({ items, withSite, onChanged }: AttentionProps) {
  if (items.length === 0) return null;
  return (
    <Panel label="Needs attention">
      <ul class="attention">
        {items.map((item) => {
          const { kind, severity, site, platform, subject, time } = item;
          return (
            <li key={`${kind} ${site} ${platform} ${subject}`} class={severity}>
              <div>
                <strong>{attentionTitle(item)}</strong>{' '}
                <span class="dim">
                  {withSite && site !== undefined && `${site} · `}
                  {attentionDetail(item)}
                  {time !== undefined && ' · '}
                  {time !== undefined && <Time time={time} as="age" />}
                </span>
              </div>
              <ActionButton item={item} onChanged={onChanged} />
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

function ActionButton({ item, onChanged }: { item: AttentionItem; onChanged(): void }) {
  const { user, isWriter } = useSession();
  const action = attentionAction(item, { mayWrite: isWriter, mayOperateAll: mayOperateAll(user) });
  if (!action) return null;
  const { label } = action;
  const name = `${label}: ${attentionTitle(item)}`;
  if (action.kind === 'open')
    return (
      <a class="button" href={action.path} aria-label={name}>
        {label}
      </a>
    );
  const run = () =>
    attempt(async () => {
      const said = await carryOut(action);
      onChanged();
      return said;
    });
  return <Button label={label} name={name} onClick={run} />;
}

/** Answers with what was done. */
async function carryOut(action: Exclude<AttentionAction, { kind: 'open' }>): Promise<string> {
  const path = { site: action.site };
  if (action.kind === 'resume') {
    const { connection } = action;
    await api.POST('/api/v1/sites/{site}/connections/{connection}/resume', { path: { ...path, connection } });
    return `${connectionTitle(connection)} sends again`;
  }
  if (action.kind === 'enable') {
    await api.PUT('/api/v1/sites/{site}/webhook/enabled', { path, body: { enabled: true } });
    return 'The webhook is enabled';
  }
  const { ok, reason } = await api.POST('/api/v1/sites/{site}/webhook/test', { path });
  if (!ok) throw new Error(`The webhook did not accept the test: ${reason ?? 'no reason given'}`);
  return 'The webhook accepted the test';
}

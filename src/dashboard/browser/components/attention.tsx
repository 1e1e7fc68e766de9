import { api, dataOf } from '../api.js';
import { connectionTitle } from '../format.js';
import { useAction } from '../hooks/use-data.js';
import { mayOperateAll, mayWrite, useSession } from '../session.js';
import {
  type AttentionAction,
  type AttentionItem,
  attentionAction,
  attentionDetail,
  attentionTitle,
} from '../views/attention-view.js';
import { Time } from './time.js';
import { attempt } from './toasts.js';

interface AttentionProps {
  items: readonly AttentionItem[];
  withSite?: boolean;
  onChanged(): void;
}

/** What needs attention, with the button that solves it or the way there. Nothing if all is well. */
export function Attention({ items, withSite, onChanged }: AttentionProps) {
  if (items.length === 0) return null;
  return (
    <section class="panel" aria-label="Needs attention">
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
                  {time !== undefined && (
                    <>
                      {' · '}
                      <Time time={time} as="age" />
                    </>
                  )}
                </span>
              </div>
              <ActionButton item={item} onChanged={onChanged} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function ActionButton({ item, onChanged }: { item: AttentionItem; onChanged(): void }) {
  const { user } = useSession();
  const running = useAction();
  const action = attentionAction(item, { mayWrite: mayWrite(user), mayOperateAll: mayOperateAll(user) });
  if (!action) return null;
  const name = `${action.label}: ${attentionTitle(item)}`;
  if (action.kind === 'open')
    return (
      <a class="button" href={action.path} aria-label={name}>
        {action.label}
      </a>
    );
  const run = () =>
    running.run(() =>
      attempt(async () => {
        const said = await carryOut(action);
        onChanged();
        return said;
      }),
    );
  return (
    <button type="button" aria-label={name} disabled={running.isBusy} onClick={() => void run()}>
      {action.label}
    </button>
  );
}

/** Answers with what was done. */
async function carryOut(action: Exclude<AttentionAction, { kind: 'open' }>): Promise<string> {
  const { site } = action;
  if (action.kind === 'resume') {
    const path = { site, connection: action.connection };
    await dataOf(api.POST('/api/v1/sites/{site}/connections/{connection}/resume', { params: { path } }));
    return `${connectionTitle(action.connection)} sends again`;
  }
  const params = { path: { site } };
  if (action.kind === 'enable') {
    await dataOf(api.PUT('/api/v1/sites/{site}/webhook/enabled', { params, body: { enabled: true } }));
    return 'The webhook is enabled';
  }
  const { ok, reason } = await dataOf(api.POST('/api/v1/sites/{site}/webhook/test', { params }));
  if (!ok) throw new Error(`The webhook did not accept the test: ${reason ?? 'no reason given'}`);
  return 'The webhook accepted the test';
}

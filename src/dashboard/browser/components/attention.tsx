import { connectionTitle, counted } from '../format.js';
import { type AttentionItem, attentionPath, attentionTitle } from '../overview-view.js';
import { Time } from './time.js';

/** What needs attention, with the way to the fix beside each. Nothing if all is well. */
export function Attention({ items, withSite }: { items: readonly AttentionItem[]; withSite?: boolean }) {
  if (items.length === 0) return null;
  return (
    <section class="panel" aria-label="Needs attention">
      <ul class="attention">
        {items.map((item) => {
          const { kind, severity, site, platform, subject, time, count, detail } = item;
          const path = attentionPath(item);
          return (
            <li key={`${kind} ${site} ${platform} ${subject}`} class={severity}>
              <div>
                <strong>{attentionTitle(item, connectionTitle(platform ?? ''))}</strong>{' '}
                <span class="dim">
                  {withSite && site !== undefined && `${site} · `}
                  {detail}
                  {count !== undefined && count > 0 && ` · ${counted(count, 'waiting or failed', 'waiting or failed')}`}
                  {time !== undefined && (
                    <>
                      {' · '}
                      <Time time={time} as="age" />
                    </>
                  )}
                </span>
              </div>
              {path !== undefined && (
                <a class="button" href={path}>
                  {item.action.label}
                </a>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

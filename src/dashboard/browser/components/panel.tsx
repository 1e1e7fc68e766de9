import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface PanelProps {
  /** Undefined: a frame without a heading. */
  title?: string;
  /** What it contains, if no heading says so. */
  label?: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ title, label, note, actions, children }: PanelProps) {
  return (
    <section class="panel" aria-label={label}>
      {title !== undefined && (
        <div class="panel-head">
          <h2>{title}</h2>
          {note && <span class="note">{note}</span>}
          {actions && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

interface PageProps {
  title: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** The content of the main area. The title is also that of the browser's tab. */
export function Page({ title, note, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Clean Conversions`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {note && <p>{note}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

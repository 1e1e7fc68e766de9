import { type ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { reachability } from '../api.js';
import { useAttention } from '../hooks/use-attention.js';
import { type Loaded } from '../hooks/use-data.js';
import { helpOf } from '../navigation.js';
import { type Problem } from '../problem.js';
import { tabTitle } from '../views/attention-view.js';
import { Button } from './basics.js';

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
  const { items } = useAttention();
  const { path } = useLocation();
  const tab = tabTitle(title, items);
  useEffect(() => {
    document.title = tab;
  }, [tab]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {note && <p>{note}</p>}
        </div>
        <div class="actions">
          {actions}
          <a href={helpOf(path)} target="_blank" rel="noreferrer">
            Help
          </a>
        </div>
      </header>
      {children}
    </>
  );
}

export function Loading() {
  return (
    <div class="skeleton" role="status">
      <span class="hidden">Loading …</span>
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}

/** A state that the reader has to know, with the button that changes it. */
export function Notice({ action, children }: { action?: ComponentChildren; children: ComponentChildren }) {
  return (
    <div class="problem warn" role="status">
      <div>{children}</div>
      {action}
    </div>
  );
}

/** An error as the service describes it, with what is wrong with each field. */
export function ProblemNote({ problem, retry }: { problem: Problem | undefined; retry?: () => void }) {
  if (!problem) return null;
  // Not those that the text names already.
  const errors = problem.errors?.filter(({ message }) => !problem.detail.includes(message)) ?? [];
  return (
    <div class="problem" role="alert">
      <div>
        <strong>{problem.title}</strong> {problem.detail}
        {errors.length > 0 && (
          <ul>
            {errors.map(({ field, message }) => (
              <li key={field}>
                <code>{field}</code> {message}
              </li>
            ))}
          </ul>
        )}
      </div>
      {retry && <Button label="Try again" onClick={retry} />}
    </div>
  );
}

/** An error of a request for what is shown. That the service does not answer is said once, above every page. */
export function LoadProblem({ problem, retry }: { problem: Problem | undefined; retry: () => void }) {
  return isAway(problem) ? null : <ProblemNote problem={problem} retry={retry} />;
}

function isAway(problem: Problem | undefined): boolean {
  return problem?.status === 0 && !reachability.isReachable;
}

/** Shows what was loaded; before that what is missing, and an error beside earlier data. */
export function Show<Data>({ of, children }: { of: Loaded<Data>; children: (data: Data) => ComponentChildren }) {
  const { data, problem, reload } = of;
  return (
    <>
      <LoadProblem problem={problem} retry={reload} />
      {data === undefined ? (!problem || isAway(problem)) && <Loading /> : children(data)}
    </>
  );
}

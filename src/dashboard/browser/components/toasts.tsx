import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../problem.js';
import { onceForButton } from '../used-button.js';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'ok' | 'bad';
}

const SHOWN_MS = 6_000;
let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says for a few seconds what happened. Errors stay until they are closed. */
export function toast(text: string, tone: Toast['tone'] = 'ok'): void {
  lastId += 1;
  const id = lastId;
  change([...toasts.slice(-3), { id, text, tone }]);
  if (tone === 'ok') setTimeout(() => close(id), SHOWN_MS);
}

/** Runs a change without a form, one at a time for each button, and reports its error as a message. */
export function attempt(work: () => Promise<string>): Promise<void> {
  return onceForButton(async () => {
    try {
      toast(await work());
    } catch (error) {
      toast(problemOf(error).detail, 'bad');
    }
  });
}

function close(id: number): void {
  change(toasts.filter((shown) => shown.id !== id));
}

export function Toasts() {
  const [, update] = useState(0);
  useEffect(() => {
    const listener = () => update((count) => count + 1);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, text, tone }) => (
        <div key={id} class={`toast ${tone}`}>
          {text}
          <button type="button" class="plain" aria-label="Close" onClick={() => close(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}

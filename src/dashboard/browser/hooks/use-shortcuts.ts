import { useEffect, useRef } from 'preact/hooks';
import { readShortcut, type Shortcut } from '../navigation.js';

const PENDING_MS = 1_500;

/** Calls `act` for keys that are not typed into a field. Ctrl+K and ⌘K open the search everywhere. */
export function useShortcuts(act: (shortcut: Shortcut) => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    let pending: { key: string; at: number } | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        latest.current({ kind: 'search' });
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const before = pending && event.timeStamp - pending.at < PENDING_MS ? pending.key : undefined;
      const { shortcut, pending: next } = readShortcut(event.key, before);
      pending = next === undefined ? undefined : { key: next, at: event.timeStamp };
      if (!shortcut) return;
      event.preventDefault();
      latest.current(shortcut);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

/** Also inside of a dialog: its own keys come first. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
}

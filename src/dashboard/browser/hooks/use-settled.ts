import { useEffect, useState } from 'preact/hooks';

const SETTLED_MS = 400;

/** The value once it has not changed for a moment: a request for each key would be too many. */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

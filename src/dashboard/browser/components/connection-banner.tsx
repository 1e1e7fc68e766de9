import { useEffect, useState } from 'preact/hooks';
import { reachability } from '../api.js';
import { Button } from './basics.js';

/** Says that the service does not answer. What is shown stays, and is loaded again when it does. */
export function ConnectionBanner() {
  const [isReachable, setReachable] = useState(reachability.isReachable);
  useEffect(() => reachability.watch(() => setReachable(reachability.isReachable)), []);
  return (
    <div role="status">
      {!isReachable && (
        <div class="problem warn">
          <span>
            <strong>No connection to the service.</strong> What you see may be out of date. It is asked again and again;
            this page need not be reloaded.
          </span>
          <Button label="Ask now" onClick={() => reachability.askNow()} />
        </div>
      )}
    </div>
  );
}

import { useState } from 'preact/hooks';
import { toast } from './toasts.js';

/** A text to copy, such as a command or a secret. */
export function CopyText({ label, text }: { label: string; text: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
    } catch {
      toast('The browser does not allow copying. Select the text and copy it.', 'bad');
    }
  };
  return (
    <div class="copy">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section class="code" aria-label={label} tabIndex={0}>
        <pre>{text}</pre>
      </section>
      <button type="button" onClick={() => void copy()} aria-label={`Copy: ${label}`}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}

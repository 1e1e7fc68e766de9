import { useState } from 'preact/hooks';
import { Button } from './button.js';
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
      <Button label={isCopied ? 'Copied' : 'Copy'} name={`Copy: ${label}`} onClick={copy} />
    </div>
  );
}

/** A value of the API to copy. */
export function CopyJson({ label, value }: { label: string; value: unknown }) {
  return <CopyText label={label} text={JSON.stringify(value, null, 2)} />;
}

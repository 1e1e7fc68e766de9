import { OUTCOME_WORDS } from '../../../kernel/outcome-words.js';

/** What the words of badges and filters mean. */
export function OutcomeLegend() {
  return (
    <details class="legend">
      <summary>What the outcomes mean</summary>
      <dl class="facts">
        {OUTCOME_WORDS.map(([word, meaning]) => (
          <div key={word}>
            <dt class="code">{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

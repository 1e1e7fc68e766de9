import type { AttentionItem } from '../attention/attention-item.js';
import { attentionFinding } from './attention-check.js';

const item = (kind: AttentionItem['kind'], severity: AttentionItem['severity'], more = {}): AttentionItem => ({
  ...{ kind, severity, detail: '', action: { label: '', method: 'GET', route: '' } },
  ...more,
});

describe('attentionFinding', () => {
  it('passes without a warning if nothing needs attention', () => {
    expect(attentionFinding([])).toEqual({ ok: true, detail: 'nothing' });
  });

  it('warns with the errors first', () => {
    const of = { platform: 'meta', site: 'shop.example' };
    const found = [
      item('webhook_failing', 'warning', { site: 'shop.example' }),
      item('connection_parked', 'error', of),
    ];
    expect(attentionFinding(found)).toEqual({
      ok: true,
      warning: true,
      detail: '1 error and 1 warning: connection_parked (meta of shop.example), webhook_failing (shop.example)',
      fix: expect.any(String),
    });
  });

  it('names a few', () => {
    const found = Array.from({ length: 7 }, () => item('certificate_expiring', 'warning'));
    expect(attentionFinding(found).detail).toMatch(/^7 warnings: certificate_expiring, .*, and 2 more$/);
  });
});

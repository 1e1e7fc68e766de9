import { counted } from '../../kernel/counted.js';
import { serviceAttention, sitesAttention } from '../attention/attention.js';
import { type AttentionItem, worstFirst } from '../attention/attention-item.js';
import { type DoctorDependencies, type Finding, passed } from './check.js';

const SHOWN_MAX = 5;

/** What the dashboard shows as needing attention. It fails no check: the installation works, and the others name what does not. */
export async function attention(dependencies: DoctorDependencies): Promise<Finding> {
  const { items } = await sitesAttention(dependencies, await dependencies.sites.all());
  return attentionFinding([...items, ...(await serviceAttention(dependencies))]);
}

export function attentionFinding(items: readonly AttentionItem[]): Finding {
  if (items.length === 0) return passed('nothing');
  const errors = items.filter(({ severity }) => severity === 'error').length;
  const counts = [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(items.length > errors ? [counted(items.length - errors, 'warning')] : []),
  ];
  const names = worstFirst(items).slice(0, SHOWN_MAX).map(nameOf);
  const others = items.length > SHOWN_MAX ? `, and ${items.length - SHOWN_MAX} more` : '';
  return {
    ...passed(`${counts.join(' and ')}: ${names.join(', ')}${others}`),
    warning: true,
    fix: 'The overview of the dashboard, and GET /api/v1/attention, say what to do about each.',
  };
}

function nameOf({ kind, platform, subject, site }: AttentionItem): string {
  const of = [platform ?? subject, site].filter((part) => part !== undefined).join(' of ');
  return of === '' ? kind : `${kind} (${of})`;
}

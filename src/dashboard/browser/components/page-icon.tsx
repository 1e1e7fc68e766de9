import {
  Activity,
  Blocks,
  ChartColumn,
  ClipboardList,
  CopyX,
  Eraser,
  Funnel,
  Globe,
  History,
  type IconNode,
  Inbox,
  KeyRound,
  ListChecks,
  Milestone,
  RefreshCw,
  Settings,
  ShieldCheck,
  Tag,
  Waypoints,
  Webhook,
} from 'lucide';
import { h } from 'preact';
import type { SitePage } from '../navigation.js';

const ICONS: Readonly<Record<SitePage | 'settings', IconNode>> = {
  overview: ChartColumn,
  live: Activity,
  conversions: ListChecks,
  'sync-log': RefreshCw,
  integrations: Blocks,
  webhook: Webhook,
  'first-steps': Milestone,
  keys: KeyRound,
  sources: Inbox,
  tag: Tag,
  consent: ShieldCheck,
  traffic: Funnel,
  duplicates: CopyX,
  mapping: Waypoints,
  site: Globe,
  history: History,
  erasures: Eraser,
  audit: ClipboardList,
  settings: Settings,
};

/** Beside the title of a page in the sidebar, which says the same. */
export function PageIcon({ page }: { page: keyof typeof ICONS }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {ICONS[page].map(([tag, attributes]) => h(tag, { ...attributes, key: JSON.stringify(attributes) }))}
    </svg>
  );
}

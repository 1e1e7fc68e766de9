export const THEMES = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;
type Theme = (typeof THEMES)[number][0];

const STORED = 'cc.theme';

export function readTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return THEMES.find(([theme]) => theme === stored)?.[0] ?? 'system';
}

export function applyTheme(theme: Theme): void {
  localStorage.setItem(STORED, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

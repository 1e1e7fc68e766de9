// Before anything is shown: the colours that were chosen, and what needs scripts.
document.documentElement.classList.add('scripts');
try {
  const theme = localStorage.getItem('cc.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the colours of the system.
}

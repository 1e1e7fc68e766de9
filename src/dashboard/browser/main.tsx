import { render } from 'preact';
import { LocationProvider } from 'preact-iso';
import { App } from './app.js';
import { applyTheme, readTheme } from './theme.js';

applyTheme(readTheme());
render(
  <LocationProvider>
    <App />
  </LocationProvider>,
  document.getElementById('app') as HTMLElement,
);

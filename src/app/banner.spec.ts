import { bannerText, dashboardUrl } from './banner.js';

describe('the banner', () => {
  it('begins with the address of the dashboard', () => {
    const [, first] = bannerText('http://127.0.0.1:8080', undefined, 'http://localhost:8081').split('\n');
    expect(first).toBe('  Dashboard: http://localhost:8081');
  });

  it('names no dashboard that is turned off, or whose port is not chosen yet', () => {
    expect(dashboardUrl({ adminUrl: undefined, adminPort: undefined })).toBeUndefined();
    expect(dashboardUrl({ adminUrl: undefined, adminPort: 0 })).toBeUndefined();
    expect(bannerText('http://127.0.0.1:8080', undefined, undefined)).not.toContain('Dashboard');
  });

  it('names the dashboard as browsers reach it', () => {
    expect(dashboardUrl({ adminUrl: undefined, adminPort: 8081 })).toBe('http://localhost:8081');
    expect(dashboardUrl({ adminUrl: 'https://cc.example', adminPort: 8081 })).toBe('https://cc.example');
  });
});

import { bannerText as bannerOf, dashboardUrl, type Missing } from './banner.js';

const bannerText = (url: string, demo: undefined, dashboard: string | undefined, missing: Partial<Missing> = {}) =>
  bannerOf(url, demo, dashboard, { sites: false, users: false, ...missing });

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

  it('says what is missing and how to add it', () => {
    const banner = (missing?: Partial<Missing>) => bannerText('http://127.0.0.1:8080', undefined, undefined, missing);
    expect(banner({ sites: true })).toContain('npx clean-conversions sites add <host>');
    expect(banner({ sites: true })).not.toContain('users add');
    expect(banner({ users: true })).toContain('npx clean-conversions users add <email> --role admin');
    expect(banner()).not.toMatch(/There is no|sites add/);
  });

  it('names the dashboard as browsers reach it', () => {
    expect(dashboardUrl({ adminUrl: undefined, adminPort: 8081 })).toBe('http://localhost:8081');
    expect(dashboardUrl({ adminUrl: 'https://cc.example', adminPort: 8081 })).toBe('https://cc.example');
  });
});

import { type BannerContent, bannerText, dashboardUrl, type Missing } from './banner.js';

const CONTENT: BannerContent = {
  ...{ url: 'http://127.0.0.1:8080', demo: undefined, dashboardUrl: 'http://localhost:8081' },
  ...{ missing: { sites: false, users: false }, cliCommand: 'docker compose exec service clean-conversions' },
};

describe('the banner', () => {
  it('begins with the address of the dashboard', () => {
    const [, first] = bannerText(CONTENT).split('\n');
    expect(first).toBe('  Dashboard: http://localhost:8081');
  });

  it('begins with the link of the first administrator, and names no other address of the dashboard', () => {
    const banner = bannerText(CONTENT, 'http://localhost:8081/sign-in#secret');
    expect(banner.split('\n').slice(1, 3)).toEqual([
      '  Open this link to create the first administrator, once, within 24 hours:',
      '    http://localhost:8081/sign-in#secret',
    ]);
    expect(banner).not.toContain('Dashboard');
  });

  it('names no dashboard that is turned off, or whose port is not chosen yet', () => {
    expect(dashboardUrl({ adminUrl: undefined, adminPort: undefined })).toBeUndefined();
    expect(dashboardUrl({ adminUrl: undefined, adminPort: 0 })).toBeUndefined();
    expect(bannerText({ ...CONTENT, dashboardUrl: undefined })).not.toContain('Dashboard');
  });

  it('says what is missing and how to add it here', () => {
    const banner = (missing?: Partial<Missing>) =>
      bannerText({ ...CONTENT, missing: { ...CONTENT.missing, ...missing } });
    expect(banner({ sites: true })).toContain('    docker compose exec service clean-conversions sites add <host>');
    expect(banner({ sites: true })).not.toContain('users add');
    expect(banner({ users: true })).toContain(
      '    docker compose exec service clean-conversions users add <email> --role admin',
    );
    expect(banner()).not.toMatch(/There is no|sites add/);
  });

  it('names the dashboard as browsers reach it', () => {
    expect(dashboardUrl({ adminUrl: undefined, adminPort: 8081 })).toBe('http://localhost:8081');
    expect(dashboardUrl({ adminUrl: 'https://cc.example', adminPort: 8081 })).toBe('https://cc.example');
  });
});

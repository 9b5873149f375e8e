// The browser that VS Code is used from, and where its pictures go.

export const SHOTS = 'artefacts';

export const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// The browser that drives VS Code, and the folder of its screenshots.

export const SHOTS = 'artefacts';

export const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];

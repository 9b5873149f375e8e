// Steps of a user whose language server crashes again and again.

import { servers } from './processes';
import type { Step } from './steps';
import { until } from './workbench';

/** Crashes after which the client starts no other server. */
const MOST_CRASHES = 5;

export const CRASHES: readonly Step[] = [
    [
        'after five crashes, the notification and the nest panel offer a restart',
        async ({ bench }) => {
            await bench.command('schedc: Show the Loop Nest');
            for (let crash = 1; crash <= MOST_CRASHES; crash += 1) {
                await until('a server', async () => (await servers()).length === 1);
                const ended = await servers();
                for (const server of ended) process.kill(server, 'SIGKILL');
                await until('its end', async () => !(await servers()).some((one) => ended.includes(one)));
            }
            const offer = bench.notifications.filter({ hasText: 'Restart the Language Server' });
            await offer.first().waitFor();
            await bench.panel.locator('#restart').waitFor();
            await bench.shot('crashed');
            await bench.panel.locator('#restart').click();
            await bench.panel.locator('.loop').first().waitFor();
            await bench.command('Notifications: Clear All Notifications');
        },
    ],
];

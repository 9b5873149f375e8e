import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRefusal } from '../../src/refusal';

const range = { start: { line: 2, character: 9 }, end: { line: 2, character: 14 } };
const failed = (message: string, data: unknown): Error => Object.assign(new Error(message), { data });

test('a finding has its code, its place and its page', () => {
    const error = failed('S0024: no loop is called `nothing`\nThe loops are `b` and `r`.', {
        code: 'S0024', page: 'file:///cache/S0024.md', place: { uri: 'file:///s.sched', range },
    });
    assert.deepEqual(readRefusal(error), {
        message: 'S0024: no loop is called `nothing`. The loops are `b` and `r`.',
        code: 'S0024',
        page: 'file:///cache/S0024.md',
        place: { uri: 'file:///s.sched', range },
    });
});

test('an error without a code has its message alone', () => {
    for (const error of [
        new Error('no'),
        'no',
        failed('no', null),
        failed('no', { code: null, page: null, place: null }),
        failed('no', { place: { uri: 'x' } }),
    ]) {
        assert.deepEqual(readRefusal(error), { message: 'no', code: null, page: null, place: null });
    }
});

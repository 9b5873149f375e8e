import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfData, readRefusal, Remediable } from '../../src/refusal';

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
        remedy: null,
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
        const alone = { message: 'no', code: null, page: null, place: null, remedy: null };
        assert.deepEqual(readRefusal(error), alone);
    }
});

test('an error about data keeps its message beside a remedy', () => {
    const error = failed('D0006: there is no column `age`', { code: 'D0006' });
    assert(isOfData(error) && !isOfData(failed('S0024: no', { code: 'S0024' })) && !isOfData(new Error('D')));
    const remedy = { title: 'Choose Other Rows', command: 'schedc.bench', arguments: ['s.sched', 'rows'] };
    const read = readRefusal(new Remediable(error, remedy));
    assert.deepEqual(read, { ...readRefusal(error), remedy });
});

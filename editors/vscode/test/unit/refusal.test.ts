import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOf, isOfData, readRefusal, Remediable } from '../../src/refusal';

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

test('the first error of a document refuses a measurement, and warnings do not', () => {
    const finding = (line: number, severity: number): Parameters<typeof faultOf>[1][number] => ({
        message: `finding of line ${line}\nmore`,
        severity,
        range: { start: { line, character: 0 }, end: { line, character: 4 } },
        code: { value: 'S0024', target: 'file:///S0024.md' },
    });
    assert.equal(faultOf('file:///s.sched', [finding(1, 1)]), null);
    const refusal = readRefusal(faultOf('file:///s.sched', [finding(7, 0), finding(1, 1), finding(4, 0)]));
    assert.equal(refusal.message, 'the schedule has errors. Line 5: finding of line 4');
    assert.deepEqual([refusal.code, refusal.page], ['S0024', 'file:///S0024.md']);
    assert.equal(refusal.place?.range.start.line, 4);
});

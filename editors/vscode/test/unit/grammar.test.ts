import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { loadWASM, OnigScanner, OnigString } from 'vscode-oniguruma';
import { INITIAL, parseRawGrammar, Registry, type IGrammar } from 'vscode-textmate';

const FILES: Readonly<Record<string, string>> = {
    'source.sched': 'syntaxes/sched.tmLanguage.json',
    'markdown.sched.codeblock': 'syntaxes/markdown.tmLanguage.json',
};

let sched: IGrammar;
let markdown: IGrammar;

before(async () => {
    await loadWASM(readFileSync(require.resolve('vscode-oniguruma/release/onig.wasm')));
    const registry = new Registry({
        onigLib: Promise.resolve({
            createOnigScanner: (patterns) => new OnigScanner(patterns),
            createOnigString: (text) => new OnigString(text),
        }),
        loadGrammar: async (scope) => {
            const file = FILES[scope];
            return file === undefined ? null : parseRawGrammar(readFileSync(file, 'utf8'), file);
        },
    });
    const load = async (scope: string): Promise<IGrammar> => {
        const grammar = await registry.loadGrammar(scope);
        assert(grammar, scope);
        return grammar;
    };
    sched = await load('source.sched');
    markdown = await load('markdown.sched.codeblock');
});

/** The words of a text with the innermost scope of each, without the language's name. */
function words(grammar: IGrammar, text: string): Record<string, string> {
    const found: Record<string, string> = {};
    let state = INITIAL;
    for (const line of text.split('\n')) {
        const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
        state = ruleStack;
        for (const { startIndex, endIndex, scopes } of tokens) {
            const word = line.slice(startIndex, endIndex).trim();
            const scope = scopes.at(-1) ?? '';
            if (word !== '') found[word] ??= scope.replace(/\.sched$/, '');
        }
    }
    return found;
}

test('a header', () => {
    const found = words(
        sched,
        'sched 1\nmodel "m.json" // one\ntarget cpu(x86-64-v3)\n' +
            'param ROWS = 64 in {16, 32}\nconst HALF = ceildiv(N_t, 2)',
    );
    assert.equal(found['sched'], 'keyword.control.header');
    assert.equal(found['1'], 'constant.numeric.edition');
    assert.equal(found['model'], 'keyword.control.header');
    assert.equal(found['m.json'], 'string.quoted.double');
    assert.equal(found['cpu'], 'support.type.target');
    assert.equal(found['x86-64-v3'], 'support.type.device');
    assert.equal(found['param'], 'storage.type');
    assert.equal(found['ROWS'], 'variable.other.constant');
    assert.equal(found['in'], 'keyword.operator.choices');
    assert.equal(found['ceildiv'], 'support.function');
    assert.equal(found['N_t'], 'support.constant.fact');
});

test('directives', () => {
    const found = words(
        sched,
        'tile(batch, b0, b1, ROWS/2); reorder(b0, tree)\n  gpuDimension(b0, grid.x)\n' +
            'representation(sparse) # allow(S0091)',
    );
    for (const name of ['tile', 'reorder', 'gpuDimension', 'representation']) {
        assert.equal(found[name], 'entity.name.function.directive', name);
    }
    assert.equal(found['batch'], 'variable.other.readwrite.row');
    assert.equal(found['tree'], 'entity.name.type.tree');
    assert.equal(found['b0'], 'variable.other.readwrite');
    assert.equal(found['grid.x'], 'support.type.dimension');
    assert.equal(found['sparse'], 'support.type.word');
    assert.equal(found['/'], 'keyword.operator.arithmetic');
    assert.equal(found['S0091'], 'constant.other.code');
});

test('blocks', () => {
    const found = words(sched, 'when n_rows <= FEW { tile(batch, b0, b1, 4) }\nparallel(b0)');
    assert.equal(found['when'], 'keyword.control.block');
    assert.equal(found['n_rows'], 'constant.language.fact');
    assert.equal(found['<='], 'keyword.operator.comparison');
    assert.equal(found['tile'], 'entity.name.function.directive');
    assert.equal(found['parallel'], 'entity.name.function.directive');
});

test('half-written lines end where they end', () => {
    const found = words(sched, 'model "m.jso\nparam\ntarget gpu(sm_9\ntile(batch, b0\nparallel(b0)');
    assert.equal(found['parallel'], 'entity.name.function.directive');
    assert.equal(found['tile'], 'entity.name.function.directive');
});

test('a fence of Markdown', () => {
    const found = words(
        markdown,
        'text tile(a)\n```sched fast.sched\ntile(batch, b0, b1, 64)\n```\nparallel(b0)\n',
    );
    assert.equal(found['tile'], 'entity.name.function.directive');
    assert.equal(found['64'], 'constant.numeric.integer');
    assert.notEqual(found['parallel(b0)'], undefined);
});

test('the grammar knows the words of the language', () => {
    const lang = (file: string): string => readFileSync(`../../lang/${file}`, 'utf8');
    const quoted = (text: string): string[] =>
        [...text.matchAll(/"([A-Za-z_.]+)"/g)].map(([, word]) => word ?? '');
    const between = (text: string, from: string, to: string): string => {
        const start = text.indexOf(from);
        assert(start >= 0, from);
        return text.slice(start, text.indexOf(to, start));
    };
    const scope = lang('src/resolve/scope.rs');
    const directives = lang('src/directives.rs');
    const facts = quoted(between(scope, 'const PROPERTIES', '];'));
    const functions = quoted(between(scope, 'const FUNCTIONS', '];'));
    const tokens = lang('../grammar/src/token.rs');
    const keywords = quoted(between(tokens, 'pub const RESERVED', '];')).filter((word) => word !== 'in');
    const layouts = [...lang('nest/src/layout.rs').matchAll(/^ {4}[A-Z]\w* "(\w+)" \{$/gm)].map(
        ([, word]) => word ?? '',
    );
    const lists = ['SORT_KEYS', 'TILINGS', 'DIMENSIONS'].flatMap((list) =>
        quoted(between(directives, `pub const ${list}`, '];')),
    );
    const values = [...layouts, ...lists];
    assert(layouts.length > 4);
    assert(facts.length > 4 && functions.length > 2 && keywords.length > 8 && values.length > 8);
    for (const word of facts)
        assert.equal(words(sched, `tile(a, b, c, ${word})`)[word], 'support.constant.fact', word);
    for (const word of functions)
        assert.equal(words(sched, `tile(a, b, c, ${word}(1))`)[word], 'support.function', word);
    for (const word of values)
        assert.match(words(sched, `x(a, ${word})`)[word] ?? '', /^support\.type/, word);
    for (const word of keywords)
        assert.match(words(sched, `${word} 1`)[word] ?? '', /^(keyword|storage|invalid)/, word);
});

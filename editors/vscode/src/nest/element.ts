// Elements as plain data, so that tests need no browser.

export type Attribute = string | number | boolean;

export interface Element {
    readonly tag: string;
    readonly attributes: Readonly<Record<string, Attribute>>;
    readonly children: readonly (Element | string)[];
}

export const element = (
    tag: string,
    attributes: Readonly<Record<string, Attribute>> = {},
    children: readonly (Element | string)[] = [],
): Element => ({ tag, attributes, children });

const SVG = 'http://www.w3.org/2000/svg';

/** Converts plain data to SVG elements. Text becomes text nodes, so that it is not parsed as markup. */
export function toDom(document: Document, root: Element): SVGElement {
    const made = document.createElementNS(SVG, root.tag);
    for (const [name, value] of Object.entries(root.attributes)) made.setAttribute(name, String(value));
    for (const child of root.children) {
        made.append(typeof child === 'string' ? child : toDom(document, child));
    }
    return made;
}

/** The elements of a tree that satisfy `wanted`, in document order. */
export function find(root: Element, wanted: (element: Element) => boolean): Element[] {
    const inside = root.children.flatMap((child) => (typeof child === 'string' ? [] : find(child, wanted)));
    return wanted(root) ? [root, ...inside] : inside;
}

/** The text in an element. */
export const textOf = (root: Element): string =>
    root.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');

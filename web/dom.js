// How elements are made. Children are elements or text; text stays text, whatever is in it.

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

function fillElement(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith('on') && typeof value === 'function')
            made.addEventListener(name.slice(2), value);
        else if (name === 'text')
            made.textContent = value;
        else if (value === true)
            made.setAttribute(name, '');
        else if (value !== false && value !== null && value !== undefined)
            made.setAttribute(name, value);
    }
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined && child !== false)
            made.append(child);
    return made;
}

// element('td', {class: 'number', onclick: handler}, 'text', otherElement)
export function element(tag, attributes, ...children) {
    return fillElement(document.createElement(tag), attributes, children);
}

// The same for SVG.
export function svg(tag, attributes, ...children) {
    return fillElement(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

const NAME_TAIL = 14; // letters of a name's end that stay when there is no room for all of it

// A name that loses its middle where there is no room: both its ends tell names apart.
export function cutName(name) {
    if (name.length <= 2 * NAME_TAIL)
        return element('span', {}, name);
    return element('span', {class: 'cut-name', title: name}, element('span', {class: 'cut-head'}, name.slice(0, -NAME_TAIL)), element('span', {class: 'cut-tail'}, name.slice(-NAME_TAIL)));
}

export function clearElement(host) {
    host.replaceChildren();
}

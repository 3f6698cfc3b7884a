'use strict';

// Menu and headings

for (const link of document.querySelectorAll('nav a')) {
  if (link.href === location.href.split('#')[0]) link.setAttribute('aria-current', 'page');
}
const headings = document.getElementById('headings');
for (const heading of document.querySelectorAll('main h2[id]')) {
  const link = document.createElement('a');
  link.href = '#' + heading.id;
  link.textContent = heading.textContent;
  headings.append(link);
}

// Diagrams and search, whose scripts are read when they are needed

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = TOP + file;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

if (document.querySelector('.mermaid')) {
  load('mermaid.min.js').then(() => {
    mermaid.initialize({
      startOnLoad: false,
      theme: 'neutral',
      themeVariables: { noteBkgColor: '#fff8dc', noteTextColor: '#333', noteBorderColor: '#bbb' },
      sequence: { wrap: true, width: 130 },
    });
    mermaid.run();
  });
}

const MAX_FOUND = 12;
const input = document.getElementById('search');
const found = document.getElementById('found');
let index;

async function openIndex() {
  await Promise.all([load('search-index.js'), load('lunr.min.js')]);
  return lunr(function () {
    this.ref('number');
    this.field('title', { boost: 8 });
    this.field('page', { boost: 3 });
    this.field('text');
    SECTIONS.forEach((section, number) => this.add({ number, ...section }));
  });
}

function search(sections, words) {
  return sections.query(query => {
    for (const term of lunr.tokenizer(words)) {
      const word = term.toString();
      query.term(lunr.stemmer(term.clone()).toString(), { presence: lunr.Query.presence.OPTIONAL, boost: 10 });
      query.term(word, { wildcard: lunr.Query.wildcard.TRAILING });
    }
  });
}

function excerpt(text, words) {
  const lower = text.toLowerCase();
  const places = words.toLowerCase().split(/\s+/).map(word => lower.indexOf(word));
  const first = Math.min(...places.map(place => place < 0 ? text.length : place));
  const begin = first === text.length ? 0 : text.lastIndexOf(' ', Math.max(0, first - 50)) + 1;
  return text.slice(begin, begin + 160) + ' …';
}

input.addEventListener('focus', () => { index ??= openIndex(); });
input.addEventListener('input', async () => {
  index ??= openIndex();
  const sections = await index;
  const words = input.value.trim();
  const results = words.length < 2 ? [] : search(sections, words).slice(0, MAX_FOUND);
  found.replaceChildren(...results.map(result => {
    const section = SECTIONS[result.ref];
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = TOP + section.address;
    link.textContent = section.page === section.title ? section.page : section.page + ' › ' + section.title;
    const text = document.createElement('p');
    text.textContent = excerpt(section.text, words);
    item.append(link, text);
    return item;
  }));
  if (words.length >= 2 && results.length === 0) {
    const item = document.createElement('li');
    item.textContent = 'Nothing found.';
    found.append(item);
  }
  found.hidden = words.length < 2;
});
input.addEventListener('keydown', event => {
  if (event.key === 'Escape') found.hidden = true;
  if (event.key === 'Enter') found.querySelector('a')?.click();
});
found.addEventListener('click', () => { found.hidden = true; });

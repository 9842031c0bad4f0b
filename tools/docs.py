"""The documentation site: a page a rule, indexes by topic and by key, the compatibility matrix.

usage: tools/docs.py build/shardlint OUTPUT_FOLDER
Everything comes from the program itself (`rules`, `explain`, `matrix`); plain HTML, no scripts.
"""
import collections
import concurrent.futures
import html
import json
import pathlib
import re
import subprocess
import sys

STYLE = '''body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2024}
nav{font-size:.9rem;margin-bottom:2rem}nav a{margin-right:1.2rem}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}
a{color:#0b5cad;text-decoration:none}a:hover{text-decoration:underline}
code,pre{font:.875em/1.5 ui-monospace,monospace;background:#f3f4f6;border-radius:4px}
code{padding:.1em .3em;overflow-wrap:anywhere}pre{padding:.8rem 1rem;overflow-x:auto}pre code{padding:0}
table{border-collapse:collapse;font-size:.9rem;width:100%}
td,th{border-bottom:1px solid #dde1e6;padding:.35rem .6rem;text-align:left;vertical-align:top}
.error{color:#b42318}.warning{color:#93600a}.info{color:#0b5cad}.yes{color:#1a7f37}
li{overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#e4e7eb}code,pre{background:#22272e}
a{color:#7ab7ff}td,th{border-color:#333a43}.error{color:#ff8e80}.warning{color:#e5b567}.yes{color:#5fd07f}}'''


def ask(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def inline(text):
    out = []
    for number, piece in enumerate(text.split('`')):
        piece = html.escape(piece, quote=False)
        out.append(f'<code>{piece}</code>' if number % 2 else piece)
    return ''.join(out)


def markdown(text):
    """The Markdown that the program writes: headings, paragraphs, lists, indented code, tables."""
    out, block, kind = [], [], None

    def flush():
        nonlocal block, kind
        if kind == 'code':
            out.append('<pre><code>' + html.escape('\n'.join(block), quote=False) + '</code></pre>')
        elif kind == 'list':
            out.append('<ul>' + ''.join(f'<li>{inline(item)}</li>' for item in block) + '</ul>')
        elif kind == 'text':
            out.append(f'<p>{inline(" ".join(block))}</p>')
        elif kind == 'table':
            rows = [[c.strip() for c in row.strip().strip('|').split('|')] for row in block
                    if not re.fullmatch(r'[|\s:-]+', row)]
            out.append('<table>' + ''.join(
                '<tr>' + ''.join(f'<{"th" if n == 0 else "td"}>{inline(c)}</{"th" if n == 0 else "td"}>'
                                 for c in row) + '</tr>' for n, row in enumerate(rows)) + '</table>')
        block, kind = [], None

    for line in text.splitlines():
        heading = re.match(r'(#+) (.*)', line)
        this = ('code' if line.startswith('    ') else 'list' if line.startswith('- ') else
                'table' if line.startswith('|') else 'text' if line.strip() else None)
        if heading or this != kind:
            flush()
        if heading:
            level = len(heading.group(1))
            out.append(f'<h{level}>{inline(heading.group(2))}</h{level}>')
        elif this:
            kind = this
            block.append(line[4:] if this == 'code' else line[2:] if this == 'list' else line)
    flush()
    return '\n'.join(out)


def page(title, body, up=''):
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f'<title>{html.escape(title)}</title><link rel="stylesheet" href="{up}style.css"></head>'
            f'<body><nav><a href="{up}index.html">Rules</a><a href="{up}keys.html">Keys</a>'
            f'<a href="{up}matrix.html">Compatibility</a></nav>{body}</body></html>\n')


def topic_of():
    """The folder of rules/ that a code's rule lies in, which is its topic."""
    found = {}
    for path in sorted((pathlib.Path(__file__).parent.parent / 'rules').glob('*/*.yaml')):
        code = re.search(r'^id: (\S+)$', path.read_text(), re.M)
        if code:
            found[code.group(1)] = path.parent.name
    return found


def keys_of(text):
    """Keys in a rule's conditions, as explain prints them between backticks."""
    when = re.search(r'^## When\n(.*?)(?=^## |\Z)', text, re.M | re.S)
    words = set()
    for code in re.findall(r'`([^`]*)`', when.group(1) if when else ''):
        code = re.sub(r'"[^"]*"', '', code)
        words |= {w for w in re.findall(r'[a-z_][a-z0-9_.]*(?![a-z0-9_.]*\()', code) if '_' in w or '.' in w}
    return words


def main():
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    (folder / 'rules').mkdir(parents=True, exist_ok=True)
    (folder / 'style.css').write_text(STYLE)
    rules = json.loads(ask(binary, 'rules', '--output-format', 'json'))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda rule: ask(binary, 'explain', rule['code']), rules))

    folder_of = topic_of()
    topics, readers = collections.defaultdict(list), collections.defaultdict(list)
    for rule, text in zip(rules, texts):
        (folder / 'rules' / f'{rule["code"]}.html').write_text(
            page(f'{rule["code"]} {rule["name"]}', markdown(text), '../'))
        topics[folder_of.get(rule['code'], 'other')].append(rule)
        for key in keys_of(text):
            readers[key].append(rule)

    def link(rule):
        return f'<a href="rules/{rule["code"]}.html">{rule["code"]}</a>'

    body = [f'<h1>{len(rules)} rules</h1><p>' + ' · '.join(
        f'<a href="#{html.escape(topic)}">{html.escape(topic)} ({len(members)})</a>'
        for topic, members in sorted(topics.items())) + '</p>']
    for topic, members in sorted(topics.items()):
        body.append(f'<h2 id="{html.escape(topic)}">{html.escape(topic)} ({len(members)})</h2><table>')
        body += [f'<tr><td>{link(r)}</td><td class="{r["severity"]}">{r["severity"]}</td>'
                 f'<td>{inline(r["summary"])}</td></tr>' for r in members]
        body.append('</table>')
    (folder / 'index.html').write_text(page('shardlint rules', ''.join(body)))

    rows = ''.join(f'<tr><td><code>{html.escape(key)}</code></td><td>'
                   + ', '.join(link(r) for r in members) + '</td></tr>'
                   for key, members in sorted(readers.items()))
    (folder / 'keys.html').write_text(
        page('Keys', f'<h1>Keys and the rules that read them</h1><table>{rows}</table>'))

    matrix = markdown(ask(binary, 'matrix')).replace('<td>yes</td>', '<td class="yes">yes</td>')
    known = {rule['code'] for rule in rules}
    matrix = re.sub(r'\b([A-Z]{3}\d{3})\b',
                    lambda m: f'<a href="rules/{m[1]}.html">{m[1]}</a>' if m[1] in known else m[1], matrix)
    (folder / 'matrix.html').write_text(page(
        'Compatibility', '<h1>What goes together in Megatron-LM</h1><p>Found by asking the rules: a cell '
        'names those that refuse the combination and neither of its parts.</p>' + matrix))
    print(f'{len(rules)} rule pages, {len(readers)} keys in {folder}')


main()

"""Every code that the sources give a finding is explained in rules/text/en.yaml, and no other:
finding_texts.py ROOT"""
import pathlib
import re
import sys

import tap

root = pathlib.Path(sys.argv[1])
texts = dict(re.findall(r'^([A-Z]{3}\d{3}):\n  name: (\S+)', (root / 'rules/text/en.yaml').read_text(), re.M))
sources = [p.read_text() for p in sorted((root / 'src').rglob('*.cpp'))]


def every_code_is_explained():
    codes = {code for text in sources for code in re.findall(r'"([A-Z]{3}\d{3})"', text)}
    assert codes - set(texts) == set(), sorted(codes - set(texts))
    assert set(texts) - codes == set(), sorted(set(texts) - codes)


def names_agree():
    pair = re.compile(r'"([A-Z]{3}\d{3})",\s*(?:Severity::\w+,\s*)?"([a-z][a-z0-9]*-[a-z0-9-]+)"')
    wrong = {(code, name) for text in sources for code, name in pair.findall(text)
             if texts.get(code) != name}
    assert not wrong, sorted(wrong)


tap.run([(f.__name__, f) for f in (every_code_is_explained, names_agree)])

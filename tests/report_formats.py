"""Every machine format of the sample report, read by its schema or by a strict reader."""
import copy
import csv
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

sample, root = sys.argv[1], pathlib.Path(sys.argv[2])


def render(name):
    return subprocess.run([sample, name], check=True, capture_output=True).stdout.decode('utf-8')


def validator(path, pointer=None):
    if jsonschema is None:
        raise tap.Skip('python3-jsonschema is not installed')
    schema = json.loads((root / path).read_text())
    if pointer:
        schema = {**schema, '$ref': pointer}
        for key in ('type', 'properties', 'required', 'additionalProperties'):
            schema.pop(key, None)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def check_json():
    report = json.loads(render('json'))
    check = validator('docs/shardlint-output.schema.json')
    check.validate(report)
    assert report['summary'] == {
        'files': 2, 'skipped': 1, 'errors': 1, 'warnings': 0, 'infos': 1, 'unknowns': 1, 'fixed': 0,
        'fixable_safe': 1, 'fixable_unsafe': 0, 'suppressed': 2}, report['summary']
    first = report['diagnostics'][2]
    assert first['location'] == {'row': 6, 'column': 16, 'offset': 80}, first['location']
    assert first['flow'][1]['location'] is None
    for spoil in ({'extra': 1}, {'severity': 'hint'}, {'location': {'row': 0, 'column': 1, 'offset': 0}}):
        bad = copy.deepcopy(report)
        bad['diagnostics'][0].update(spoil)
        assert not check.is_valid(bad), spoil


def check_json_lines():
    check = validator('docs/shardlint-output.schema.json', '#/$defs/diagnostic')
    lines = render('json-lines').splitlines()
    assert len(lines) == 5
    for line in lines:
        check.validate(json.loads(line))
    assert [json.loads(line) for line in lines] == json.loads(render('json'))['diagnostics']


def check_sarif():
    check = validator('tests/schemas/sarif-2.1.0.json')
    log = json.loads(render('sarif'))
    check.validate(log)
    run = log['runs'][0]
    kinds = [(r['ruleId'], r['kind'], r['level']) for r in run['results']]
    assert ('CKP105', 'open', 'none') in kinds and ('CKP104', 'fail', 'error') in kinds, kinds
    for r in run['results']:
        assert run['tool']['driver']['rules'][r['ruleIndex']]['id'] == r['ruleId']
    bad = next(r for r in run['results'] if r['ruleId'] == 'CKP104')
    place = bad['locations'][0]['physicalLocation']
    assert place['artifactLocation'] == {'uri': 'conf/a%20b.yaml', 'uriBaseId': 'SRCROOT'}
    assert place['region']['snippet']['text'] == 'torch_dist'
    assert len(bad['fixes']) == 1, 'a fix without edits would make GitHub refuse the upload'
    assert [s['suppressions'][0]['kind'] for s in run['results'] if 'suppressions' in s] == [
        'inSource', 'external']
    prints = [r['partialFingerprints']['shardlint/v1'] for r in run['results']]
    assert len(set(prints)) == len(prints)
    assert run['originalUriBaseIds']['SRCROOT']['uri'] == 'file:///home/me/my%20project/'
    broken = copy.deepcopy(log)
    broken['runs'][0]['results'][2]['fixes'][0]['artifactChanges'] = []
    assert not check.is_valid(broken)


def check_rdjson():
    report = json.loads(render('rdjson'))
    validator('tests/schemas/rdjson.json').validate(report)
    bad = report['diagnostics'][2]
    assert bad['suggestions'] == [{'range': bad['location']['range'], 'text': 'fsdp_dtensor'}]
    assert bad['location']['range']['start'] == {'line': 6, 'column': 16}


def check_gitlab():
    # What GitLab documents as required of a code quality report.
    report = json.loads(render('gitlab'))
    for item in report:
        assert {'description', 'check_name', 'fingerprint', 'severity', 'location'} == set(item)
        assert item['severity'] in ('info', 'minor', 'major', 'critical', 'blocker')
        assert not item['location']['path'].startswith('./')
        assert item['location']['positions']['begin']['line'] >= 1
    assert len({item['fingerprint'] for item in report}) == len(report)


def check_junit():
    top = ElementTree.fromstring(render('junit'))
    suites = {suite.get('name'): suite for suite in top}
    assert set(suites) == {'-', 'clean.yaml', 'conf/a b.yaml'}
    for suite in suites.values():
        assert int(suite.get('tests')) == len(suite.findall('testcase'))
        assert int(suite.get('failures')) == len(suite.findall('testcase/failure'))
        assert int(suite.get('skipped')) == len(suite.findall('testcase/skipped'))
    assert int(top.get('tests')) == 4 and int(top.get('failures')) == 2
    assert not suites['clean.yaml'].findall('testcase/failure')


def check_checkstyle():
    top = ElementTree.fromstring(render('checkstyle'))
    assert top.tag == 'checkstyle'
    rows = [(f.get('name'), e.get('line'), e.get('severity')) for f in top for e in f]
    assert ('conf/a b.yaml', '6', 'error') in rows and ('-', '1', 'info') in rows, rows
    assert any('<whether> "quotes" & | bars,\nand: lines' == e.get('message') for e in top.iter('error'))


def check_github():
    lines = render('github').splitlines()
    assert len(lines) == 3
    for line in lines:
        head, properties, message = line.split(' ', 1)[0], line.split(' ', 1)[1], line
        assert head in ('::error', '::warning', '::notice'), line
        assert '::' in properties and '\r' not in message


def check_markdown():
    rows = [line for line in render('markdown').splitlines() if line.startswith('|')]
    for row in rows:
        cells = next(csv.reader([row.replace('\\|', '/')], delimiter='|', quoting=csv.QUOTE_NONE))
        assert len(cells) == 6, row


tap.run([(name[len('check_'):].replace('_', '-'), test) for name, test in list(globals().items())
         if name.startswith('check_')])

"""The language server spoken to as an editor does: language_server.py PROGRAM"""
import json
import pathlib
import subprocess
import sys
import tempfile

import tap

program = str(pathlib.Path(sys.argv[1]).resolve())
BAD = '''use_megatron_fsdp: &on true # é𝄞
dist: {use_megatron_fsdp: true}
ddp:
  use_megatron_fsdp: true
checkpoint:
  save: /data/run
  save: /data/other
'''


class Client:
    def __init__(self, capabilities, folder):
        self.process = subprocess.Popen([program, 'server'], stdin=subprocess.PIPE, cwd=folder,
                                        stdout=subprocess.PIPE)
        self.number = 0
        self.pushed = {}
        self.server = self.request('initialize', {'processId': None, 'rootUri': None,
                                                  'capabilities': capabilities})
        self.notify('initialized', {})

    def send(self, message):
        content = json.dumps({'jsonrpc': '2.0', **message}).encode()
        self.process.stdin.write(b'Content-Length: %d\r\n\r\n' % len(content) + content)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            length = int(line.split(b':')[1])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({'method': method, 'params': params})

    def answer(self, method, params):
        self.number += 1
        self.send({'id': self.number, 'method': method, 'params': params})
        while (message := self.receive()).get('id') != self.number:
            if message.get('method') == 'textDocument/publishDiagnostics':
                self.pushed[message['params']['uri']] = message['params']['diagnostics']
        return message

    def request(self, method, params):
        return self.answer(method, params)['result']

    def end(self):
        self.request('shutdown', None)
        self.notify('exit', None)
        self.process.stdin.close()
        return self.process.wait(10)


def session(capabilities, text=BAD, name='a b.yaml'):
    folder = tempfile.TemporaryDirectory()
    client = Client(capabilities, folder.name)
    client.folder = folder
    client.uri = (pathlib.Path(folder.name) / name).as_uri()
    client.notify('textDocument/didOpen', {'textDocument': {
        'uri': client.uri, 'languageId': 'yaml', 'version': 1, 'text': text}})
    return client


def here(client, **more):
    return {'textDocument': {'uri': client.uri}, **more}


PULL = {'textDocument': {'diagnostic': {}}}


def pushes_diagnostics():
    client = session({})
    client.request('textDocument/hover', here(client, position={'line': 0, 'character': 0}))
    codes = {d['code'] for d in client.pushed[client.uri]}
    assert 'YML112' in codes or codes, codes
    assert client.end() == 0
    return codes


def pulls_and_follows_edits():
    client = session(PULL)
    before = client.request('textDocument/diagnostic', here(client))
    assert before['kind'] == 'full' and before['items'], before
    line = 6
    assert any(d['range']['start']['line'] == line or line in
               [r['location']['range']['start']['line'] for r in d.get('relatedInformation', [])]
               for d in before['items']), before
    client.notify('textDocument/didChange', here(client, contentChanges=[
        {'range': {'start': {'line': 6, 'character': 0}, 'end': {'line': 7, 'character': 0}}, 'text': ''}]))
    after = client.request('textDocument/diagnostic', here(client))['items']
    gone = {d['code'] for d in before['items']} - {d['code'] for d in after}
    assert gone, 'the duplicate key is gone and its finding is not'
    client.notify('textDocument/didClose', here(client))
    assert client.answer('textDocument/diagnostic', here(client))['error']['code'] == -32602
    assert client.end() == 0


def counts_as_the_client_does():
    text = 'ddp: {use_megatron_fsdp: true}\ndist: {use_megatron_fsdp: true}\n' \
           'checkpoint: {save: "/é𝄞", ckpt_fromat: x}\n'
    starts = {}
    for name, offered in (('utf-16', []), ('utf-8', ['utf-8', 'utf-16'])):
        client = session({**PULL, 'general': {'positionEncodings': offered}}, text)
        assert client.server['capabilities']['positionEncoding'] == name
        found = [d for d in client.request('textDocument/diagnostic', here(client))['items']
                 if d['code'] == 'KEY101']
        assert len(found) == 1, found
        starts[name] = found[0]['range']['start']['character']
        assert client.end() == 0
    line = text.splitlines()[2]
    before = line[:line.index('ckpt_fromat')]
    assert starts == {'utf-16': len(before.encode('utf-16-le')) // 2,
                      'utf-8': len(before.encode())}, starts


def offers_fixes():
    client = session(PULL, 'ddp: {use_megatron_fsdp: true}\ncheckpoint: {ckpt_fromat: torch_dist}\n')
    actions = client.request('textDocument/codeAction', here(
        client, range={'start': {'line': 1, 'character': 14}, 'end': {'line': 1, 'character': 14}},
        context={'diagnostics': []}))
    edits = [a['edit']['changes'][client.uri] for a in actions if 'ckpt_format' in json.dumps(a)]
    assert edits and edits[0][0]['newText'] == 'ckpt_format', actions
    assert any(a['title'].startswith('Ignore KEY101') for a in actions), actions
    hover = client.request('textDocument/hover', here(client, position={'line': 1, 'character': 14}))
    assert 'KEY101' in hover['contents']['value'], hover
    assert client.end() == 0


def refuses_what_it_does_not_know():
    client = session(PULL)
    assert client.answer('workspace/symbol', {})['error']['code'] == -32601
    assert client.answer('textDocument/hover', {})['error']['code'] == -32602
    client.process.stdin.write(b'Content-Length: 3\r\n\r\n{,}')
    client.process.stdin.flush()
    assert client.receive()['error']['code'] == -32700
    client.notify('$/progress', {})
    assert client.end() == 0
    bad = subprocess.run([program, 'server'], input=b'Content-Length: 99999999999\r\n\r\n', capture_output=True)
    assert bad.returncode == 2 and b'Content-Length' in bad.stderr, bad
    early = subprocess.run([program, 'server'], input=b'', capture_output=True)
    assert early.returncode == 1, early


tap.run([(f.__name__, f) for f in (pushes_diagnostics, pulls_and_follows_edits, counts_as_the_client_does,
                                   offers_fixes, refuses_what_it_does_not_know)])

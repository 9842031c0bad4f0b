"""The edges that other programs touch: settings schema, completions, the GitHub Action, the manual."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import peers
import tap

binary, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
outside = {**{k: v for k, v in os.environ.items() if not k.startswith('SHARDLINT_')},
           'PATH': f'{binary.parent}:{os.environ["PATH"]}'}
RULES = root / 'fixtures' / 'cli' / 'check-full' / 'rules'
BAD = 'MODEL_ARGS:\n  --num-layers: 12\n  --num-attention-heads: 8\n'


def run(*command, cwd=None, env=None, check=True):
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env or outside, capture_output=True,
                          text=True)
    assert not check or done.returncode == 0, f'{command}: {done.stdout}{done.stderr}'
    return done


def settings_schema():
    try:
        import jsonschema
        import tomllib
    except ImportError as missing:
        raise tap.Skip(str(missing))
    schema = json.loads((root / 'docs' / 'shardlint.schema.json').read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    example = re.search(r'```toml\n(.*?)```', (root / 'docs' / 'configuration.md').read_text(), re.S)
    settings = tomllib.loads(example.group(1))
    validator.validate(settings)
    assert not validator.is_valid({'worldsize': 8})
    source = (root / 'src' / 'discover' / 'settings_keys.cpp').read_text()
    table = source[source.index('SettingsKey keys[]'):]
    known = set(re.findall(r'^    \{"([a-z-]+)"', table, re.M))
    assert known == set(schema['properties']), known ^ set(schema['properties'])
    with tempfile.TemporaryDirectory() as folder:  # and the program reads the documented example
        del settings['rules'], settings['baseline']
        text = re.sub(r'(?m)^(rules|baseline) = .*\n', '', example.group(1))
        pathlib.Path(folder, 'shardlint.toml').write_text(text)
        shown = run(binary, 'config', folder).stdout
        assert 'shardlint.toml:' in shown and 'world-size         64' in shown, shown


def effective_schemas():
    try:
        import jsonschema
    except ImportError as missing:
        raise tap.Skip(str(missing))
    for name in ('resolve', 'diff'):
        schema = json.loads((root / 'docs' / f'shardlint-{name}.schema.json').read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        for files in ([['sound-ddp.sh'], ['sound-verl.sh'], ['broken-recipe.py'],
                       ['broken-bridge-overrides.yaml']] if name == 'resolve' else
                      [['sound-ddp.sh', 'sound-launch.sh'], ['sound-verl.sh', 'broken-verl.sh'],
                       ['broken-recipe.py', 'broken-bridge-overrides.yaml']]):
            paths = [root / 'fixtures' / 'examples' / file for file in files]
            done = run(binary, name, '--output-format', 'json', *paths, check=False)
            assert done.returncode == (1 if name == 'diff' else 0), done.stderr
            jsonschema.Draft202012Validator(schema).validate(json.loads(done.stdout))


def complete(words):
    script = run(binary, 'generate-shell-completion', 'bash').stdout
    program = (script + f'\nCOMP_WORDS=({" ".join(words)})\nCOMP_CWORD={len(words) - 1}\n'
               '_shardlint 2>/dev/null\nprintf "%s\\n" "${COMPREPLY[@]}"\n')
    return run('bash', '-c', program).stdout.split()


def bash_completion():
    assert complete(['shardlint', 'ch']) == ['check'] or 'check' in complete(['shardlint', 'ch'])
    assert '--world-size' in complete(['shardlint', 'check', '--wor'])
    assert complete(['shardlint', 'check', '--fix-o']) == ['--fix-only']


def needs(shell):
    if not shutil.which(shell):
        raise tap.Skip(f'{shell} is not installed')


def zsh_completion():
    """A zsh on a pseudo-terminal, into which the beginning of a word and a tab are typed."""
    needs('zsh')
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, '_shardlint')
        script.write_text(run(binary, 'generate-shell-completion', 'zsh').stdout)
        run('zsh', '-n', script)
        setup = (f'fpath=({folder} $fpath); PS1=READY; autoload -Uz compinit; '
                 f'compinit -u -d {folder}/dump; zstyle ":completion:*" menu no; setopt no_beep\n')
        # zpty is zsh's own pseudo-terminal: one zsh types into another.
        program = f'''zmodload zsh/zpty
typed() {{
  zpty shell 'TERM=dumb zsh -f -i'
  zpty -w shell {shell_quote(setup)}
  sleep 1
  zpty -w -n shell "$1"$'\\t'
  sleep 1.5
  local line
  while zpty -r -t shell line; do print -rn -- "$line"; done
  zpty -d shell
}}
typed 'shardlint che'
typed 'shardlint check --exit-z'
'''
        told = run('zsh', '-f', '-c', program).stdout
        assert 'shardlint check' in told, told
        assert '--exit-zero' in told, told


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def fish_completion():
    needs('fish')
    with tempfile.TemporaryDirectory() as folder:
        env = {**outside, 'HOME': folder, 'XDG_CONFIG_HOME': folder, 'XDG_DATA_HOME': folder}
        script = pathlib.Path(folder, 'shardlint.fish')
        script.write_text(run(binary, 'generate-shell-completion', 'fish').stdout)
        run('fish', '--no-execute', script, env=env)

        def offered(words):
            done = run('fish', '-c', f'source {script}; complete -C "{words}"', env=env)
            return [line.split('\t')[0] for line in done.stdout.splitlines()]
        assert 'check' in offered('shardlint che'), offered('shardlint che')
        assert '--exit-zero' in offered('shardlint check --exit-'), offered('shardlint check --exit-')


def install_script():
    """Into a temporary prefix, with a stranger's environment; and away again."""
    with tempfile.TemporaryDirectory() as folder:
        run('sh', root / 'install.sh', '--prefix', folder, '--binary', binary, cwd=folder)
        there = {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob('*') if p.is_file()}
        assert {'bin/shardlint', 'share/man/man1/shardlint.1', 'share/zsh/site-functions/_shardlint',
                'share/bash-completion/completions/shardlint', 'libexec/shardlint/shardlint-verify-cpu',
                'share/fish/vendor_completions.d/shardlint.fish'} <= there, there
        installed = pathlib.Path(folder, 'bin', 'shardlint')
        assert run(installed, 'version').stdout == run(binary, 'version').stdout
        assert run(installed, 'check', '--exit-zero', '-', cwd=folder).returncode == 0
        assert run('sh', root / 'install.sh', '--prefx', folder, check=False).returncode == 2
        run('sh', root / 'install.sh', '--prefix', folder, '--uninstall')
        assert not [p for p in pathlib.Path(folder).rglob('*') if p.is_file()]


def no_hosts():
    """The install script and the Action name no host on the network."""
    for name in ('install.sh', 'action.yml', '.pre-commit-hooks.yaml'):
        assert not re.search(r'https?://', (root / name).read_text()), name


def watch():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'a.yaml')
        path.write_text(BAD.replace('8', '4'))
        process = subprocess.Popen([binary, 'check', '--watch', '--isolated', '--rules', RULES, '--select',
                                    'TST101', '--output-format', 'concise', folder], env=outside,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert 'nothing found in 1 file' in process.stderr.readline()
            path.write_text(BAD)
            line = process.stdout.readline()
            assert 'a.yaml:3:26: error: TST101' in line, line
        finally:
            process.kill()
            process.communicate()


def profile():
    done = run(binary, 'check', '--isolated', '--profile-rules', '--no-summary',
               root / 'fixtures' / 'examples' / 'sound-ddp.sh')
    assert not done.stdout, done.stdout
    for word in ('phase, all threads together', 'scripts read', 'rules and rewrites', 'us each'):
        assert word in done.stderr, done.stderr
    assert re.search(r'^  [A-Z]{3}\d{3} +\d+\.\d{3} +\d+\.\d% +1 ', done.stderr, re.M), done.stderr


def add_ignore_and_baseline():
    """Both silence what is there and nothing that comes after; moved lines stay known."""
    with tempfile.TemporaryDirectory() as folder:
        lint = [binary, 'check', '--rules', RULES, '--select', 'TST101,SUP']
        path = pathlib.Path(folder, 'a.yaml')
        path.write_text(BAD)
        assert run(*lint, '.', cwd=folder, check=False).returncode == 1
        run(*lint, '--write-baseline', '.', cwd=folder)
        base = [*lint, '--baseline', '.shardlint-baseline.json']
        path.write_text('# moved\n\n' + BAD)
        run(*base, '.', cwd=folder)
        pathlib.Path(folder, 'b.yaml').write_text(BAD)
        assert run(*base, '.', cwd=folder, check=False).returncode == 1
        path.write_text(BAD.replace('8', '4'))
        pathlib.Path(folder, 'b.yaml').unlink()
        run(*base, '--prune-baseline', '.', cwd=folder)
        left = json.loads(pathlib.Path(folder, '.shardlint-baseline.json').read_text())
        assert 'TST101' not in json.dumps(left), left
        path.write_text(BAD)
        path.chmod(0o750)
        run(*lint, '--fix', '--unsafe-fixes', '--add-ignore=converted offline', '.', cwd=folder)
        assert '# shardlint: ignore[TST101] -- converted offline' in path.read_text(), path.read_text()
        assert path.stat().st_mode & 0o777 == 0o750
        run(*lint, '.', cwd=folder)


def action_schema():
    run(peers.program('check-jsonschema'), '--builtin-schema', 'vendor.github-actions',
        root / 'action.yml')


def action_steps():
    try:
        import yaml
    except ImportError as missing:
        raise tap.Skip(str(missing))
    steps = yaml.safe_load((root / 'action.yml').read_text())['runs']['steps']
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (('good/a.yaml', BAD.replace('8', '4')), ('bad/a.yaml', BAD)):
            path = pathlib.Path(folder, name)
            path.parent.mkdir()
            path.write_text(text)
        for paths, code in (('good', 0), ('bad good', 1)):
            env = {**outside, 'SHARDLINT': 'shardlint', 'SHARDLINT_PATHS': paths, 'SARIF': 'out.sarif',
                   'SHARDLINT_ARGS': f'--rules {RULES} --select TST101', 'SOURCE': str(root),
                   'GITHUB_OUTPUT': f'{folder}/output', 'GITHUB_STEP_SUMMARY': f'{folder}/summary.md'}
            run('bash', '-eo', 'pipefail', '-c', steps[0]['run'], cwd=folder, env=env)
            done = run('bash', '-eo', 'pipefail', '-c', steps[1]['run'], cwd=folder, env=env,
                       check=False)
            assert done.returncode == code, done.stdout + done.stderr
            assert ('::error title=shardlint (TST101),file=bad/a.yaml,line=3' in done.stdout) == bool(code)
            log = json.loads(pathlib.Path(folder, 'out.sarif').read_text())
            assert len(log['runs'][0]['results']) == code
            assert 'sarif=out.sarif' in pathlib.Path(folder, 'output').read_text()
            assert '### shardlint' in pathlib.Path(folder, 'summary.md').read_text()


# A source tree that pip builds without a network: its backend packs the program that was built here.
BACKEND = """
import base64, hashlib, pathlib, zipfile

def build_wheel(folder, settings=None, metadata=None):
    name = 'shardlint-0.1.0-py3-none-any.whl'
    info = 'shardlint-0.1.0.dist-info'
    files = {'shardlint-0.1.0.data/scripts/shardlint': pathlib.Path(BINARY).read_bytes(),
             f'{info}/METADATA': b'Metadata-Version: 2.1\\nName: shardlint\\nVersion: 0.1.0\\n',
             f'{info}/WHEEL': b'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'}
    record = ''
    with zipfile.ZipFile(pathlib.Path(folder, name), 'w') as wheel:
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
            record += f'{path},sha256={digest},{len(data)}\\n'
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100755 << 16  # pip makes of it what may be run
            wheel.writestr(entry, data)
        wheel.writestr(f'{info}/RECORD', record + f'{info}/RECORD,,\\n')
    return name
"""


def action_installs():
    """The Action where the program is not on PATH: it prepares its checkout, pip installs it, and the
    next step finds it. A local source tree stands for the checkout."""
    try:
        import yaml
    except ImportError as missing:
        raise tap.Skip(str(missing))
    steps = yaml.safe_load((root / 'action.yml').read_text())['runs']['steps']
    assert re.search(r'^ *setup\)', (root / 'dev').read_text(), re.M), './dev has no `setup`'
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        run(sys.executable, '-m', 'venv', scratch / 'venv')
        source = scratch / 'checkout'
        source.mkdir()
        (source / 'dev').write_text('#!/bin/sh\necho "$@" > "$(dirname "$0")/prepared"\n')
        (source / 'dev').chmod(0o755)
        (source / 'pyproject.toml').write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            '[project]\nname = "shardlint"\nversion = "0.1.0"\n')
        (source / 'backend.py').write_text(f'BINARY = {str(binary)!r}\n' + BACKEND)
        (scratch / 'bad.yaml').write_text(BAD)
        env = {**{k: v for k, v in os.environ.items() if not k.startswith(('SHARDLINT_', 'PIP_'))},
               'PATH': f'{scratch}/venv/bin:/usr/bin:/bin', 'PIP_NO_INDEX': '1',
               'SHARDLINT': 'shardlint', 'SHARDLINT_PATHS': 'bad.yaml', 'SARIF': 'out.sarif',
               'SHARDLINT_ARGS': f'--rules {RULES} --select TST101', 'SOURCE': str(source),
               'GITHUB_OUTPUT': f'{folder}/output', 'GITHUB_STEP_SUMMARY': f'{folder}/summary.md'}
        if shutil.which('shardlint', path=env['PATH']):
            raise tap.Skip('a shardlint is installed in /usr/bin')
        for time in ('first', 'again'):
            run('bash', '-eo', 'pipefail', '-c', steps[0]['run'], cwd=folder, env=env)
            assert (scratch / 'venv' / 'bin' / 'shardlint').exists()
            # The second time the program is there: nothing is prepared or installed again.
            assert (source / 'prepared').exists() == (time == 'first')
            (source / 'prepared').unlink(missing_ok=True)
        done = run('bash', '-eo', 'pipefail', '-c', steps[1]['run'], cwd=folder, env=env, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        assert '::error title=shardlint (TST101),file=bad.yaml,line=3' in done.stdout, done.stdout
        assert len(json.loads((scratch / 'out.sarif').read_text())['runs'][0]['results']) == 1
        # A checkout that cannot be prepared fails the step.
        (source / 'dev').write_text('#!/bin/sh\nexit 3\n')
        (scratch / 'venv' / 'bin' / 'shardlint').unlink()
        assert run('bash', '-eo', 'pipefail', '-c', steps[0]['run'], cwd=folder, env=env,
                   check=False).returncode == 3


def manual():
    page = run(sys.executable, root / 'tools' / 'man.py', binary).stdout
    assert page.startswith('.TH SHARDLINT 1') and '.SS check' in page and '\\-\\-world\\-size' in page
    if shutil.which('man'):
        with tempfile.NamedTemporaryFile('w', suffix='.1') as file:
            file.write(page)
            file.flush()
            done = run('man', '--warnings', '-E', 'UTF-8', '-l', file.name)
            wrong = [line for line in done.stderr.splitlines()
                     if 'break line' not in line and 'adjust line' not in line]
            assert not wrong, done.stderr


def site():
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, root / 'tools' / 'docs.py', binary, folder)
        pages = list(pathlib.Path(folder).rglob('*.html'))
        rules = json.loads(run(binary, 'rules', '--output-format', 'json').stdout)
        assert len(pages) == len(rules) + 3, len(pages)
        for page in pages:
            for target in re.findall(r'href="([^"#]+)"', page.read_text()):
                assert (page.parent / target).exists(), f'{page}: {target}'


tap.run([
    ('the documentation site has a page a rule, and no dead links', site),
    ('the settings schema, the documented example and the program agree', settings_schema),
    ('resolve and diff write what their schemas say', effective_schemas),
    ('bash completes commands and options', bash_completion),
    ('zsh completes commands and options', zsh_completion),
    ('fish completes commands and options', fish_completion),
    ('install.sh puts everything below a prefix, and takes it away', install_script),
    ('what installs names no host', no_hosts),
    ('--watch lints again when a file changes', watch),
    ('--profile-rules tells phases and rules', profile),
    ('--add-ignore and the baseline silence what is there', add_ignore_and_baseline),
    ('action.yml is valid to check-jsonschema', action_schema),
    ("the Action's shell steps do what they say", action_steps),
    ('the Action installs what is not there', action_installs),
    ('the manual page', manual),
])

"""The hooks file, run by pre-commit itself on a throw-away repository."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import peers
import tap

binary, root = (pathlib.Path(word).resolve() for word in sys.argv[1:3])

BAD = '''MODEL_ARGS:
  --num-layers: 12
  --num-attention-heads: 8
'''
SETTINGS = 'rules = ["rules"]\nselect = ["TST101"]\noutput-format = "concise"\nexclude = ["generated"]\n'


class Repository:
    """A git repository whose pre-commit hooks come from our hooks file, with our binary on PATH."""

    def __init__(self, scratch, source=None, hook='shardlint-system'):
        self.folder = pathlib.Path(scratch) / 'project'
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(('GIT_', 'SHARDLINT_'))},
            'PATH': f'{binary.parent}:{os.environ["PATH"]}',
            'HOME': scratch, 'PRE_COMMIT_HOME': str(pathlib.Path(scratch) / 'cache'),
            'GIT_CONFIG_NOSYSTEM': '1', 'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b',
            'GIT_COMMITTER_NAME': 'a', 'GIT_COMMITTER_EMAIL': 'a@b'}
        hooks = source or pathlib.Path(scratch) / 'hooks'
        if not source:
            hooks.mkdir()
            shutil.copy(root / '.pre-commit-hooks.yaml', hooks)
            for command in ('init -q', 'add .', 'commit -q -m hooks'):
                self.git(command, hooks)
        revision = self.git('rev-parse HEAD', hooks).stdout.strip()
        self.folder.mkdir()
        self.git('init -q')
        self.write('.pre-commit-config.yaml',
                   f'repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks:\n  - id: {hook}\n')
        self.write('shardlint.toml', SETTINGS)
        rule = root / 'fixtures' / 'cli' / 'check-full' / 'rules' / 'test.yaml'
        self.write('rules/test.yaml', rule.read_text())
        self.run(peers.program('pre-commit'), 'install')
        self.git('add .')
        self.git('commit -q -m start --no-verify')

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *command, folder=None, check=True):
        done = subprocess.run(command, cwd=folder or self.folder, env=self.environment,
                              capture_output=True, text=True)
        assert not check or done.returncode == 0, f'{command}: {done.stdout}{done.stderr}'
        return done

    def git(self, words, folder=None, check=True):
        return self.run('git', *words.split(), folder=folder, check=check)

    def commit(self, name, text):
        self.write(name, text)
        self.git('add .')
        return self.git('commit -m change', check=False)


def with_repository(test):
    peers.program('pre-commit')
    with tempfile.TemporaryDirectory() as scratch:
        test(Repository(scratch))


def blocks(repository):
    done = repository.commit('conf.yaml', BAD)
    told = done.stdout + done.stderr
    assert done.returncode != 0, told
    assert 'conf.yaml:3:26: error: TST101' in told, told
    assert 'start' in repository.git('log -1 --format=%s').stdout


def passes(repository):
    done = repository.commit('conf.yaml', BAD.replace(': 8', ': 4'))
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'change' in repository.git('log -1 --format=%s').stdout


def builds_itself():
    """The hook that installs itself: pre-commit clones the tree, and its pip builds it in an environment
    of its own, with no program of ours on PATH."""
    if os.environ.get('SHARDLINT_INSTALL_TESTS') != '1':
        raise tap.Skip('it compiles everything again; set SHARDLINT_INSTALL_TESTS=1')
    peers.program('pre-commit')
    if subprocess.run(['git', '-C', root, 'rev-parse', 'HEAD'], capture_output=True).returncode:
        raise tap.Skip('the tree is no git repository')
    with tempfile.TemporaryDirectory() as scratch:
        repository = Repository(scratch, root, 'shardlint')
        repository.environment['PATH'] = os.environ['PATH']
        blocks(repository)
        passes(repository)


def partners():
    """Only the recipe is staged; the script beside it, untouched, says which values reach it."""
    with tempfile.TemporaryDirectory() as scratch:
        repository = Repository(scratch)
        repository.write('base.sh', 'export FORMAT=torch_dist\n')
        repository.write('launch.sh', 'source ./base.sh\n')
        repository.git('add .')
        repository.git('commit -q -m partner --no-verify')
        text = ('#!/bin/bash\nsource ./base.sh\npython pretrain_gpt.py --use-megatron-fsdp '
                '--ckpt-format $FORMAT\n')
        repository.write('shardlint.toml', 'output-format = "concise"\nselect = ["MFS101"]\n')
        done = repository.commit('launch.sh', text)
        told = done.stdout + done.stderr
        assert done.returncode != 0 and 'MFS101' in told and 'launch.sh:3' in told, told


BASE_RECIPE = '''from megatron.bridge.recipes.llama import llama32_1b_pretrain_config


def base_config():
    cfg = llama32_1b_pretrain_config()
    cfg.dist.use_megatron_fsdp = True
    cfg.ddp.use_megatron_fsdp = True
    cfg.checkpoint.ckpt_format = "fsdp_dtensor"
    cfg.checkpoint.save = "/ckpt"
    return cfg
'''
RECIPE = '''from megatron.bridge.training.config import ConfigContainer

from base import base_config


def mine_config() -> ConfigContainer:
    cfg = base_config()
    cfg.ddp.megatron_fsdp_version = VERSION
    return cfg
'''


def recipe_partner():
    """Only one recipe is staged; the one that it builds on, untouched, is read from disk: together
    they are refused, and each alone is not."""
    with tempfile.TemporaryDirectory() as scratch:
        repository = Repository(scratch)
        repository.write('base.py', BASE_RECIPE)
        repository.write('shardlint.toml', 'output-format = "concise"\nselect = ["CKP146"]\n')
        done = repository.commit('mine.py', RECIPE.replace('VERSION', '1'))
        assert done.returncode == 0, done.stdout + done.stderr
        done = repository.commit('mine.py', RECIPE.replace('VERSION', '2'))
        told = done.stdout + done.stderr
        assert done.returncode != 0 and 'base.py:9:27: error: CKP146' in told, told
        assert repository.git('diff --cached --name-only').stdout.split() == ['mine.py']
        # As pre-commit runs it, on the staged file alone, the fix is written there.
        repository.run(str(binary), 'check', '--fix', '--unsafe-fixes', 'mine.py')
        assert (repository.folder / 'base.py').read_text() == BASE_RECIPE
        repository.git('add .')
        done = repository.git('commit -m fixed', check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def leaves_excluded(repository):
    done = repository.commit('generated/conf.yaml', BAD)
    assert done.returncode == 0, done.stdout + done.stderr


def manifest():
    done = subprocess.run([peers.program('pre-commit'), 'validate-manifest',
                           str(root / '.pre-commit-hooks.yaml')], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


tap.run([
    ('the hooks file is valid to pre-commit', manifest),
    ('a staged mistake blocks the commit with the finding', lambda: with_repository(blocks)),
    ('a sound configuration is committed', lambda: with_repository(passes)),
    ('a staged script reads its untouched partner from disk', partners),
    ('a staged recipe reads the untouched one that it builds on', recipe_partner),
    ('the hook that builds itself from a clone', builds_itself),
    ('an excluded file is left alone though it is staged', lambda: with_repository(leaves_excluded)),
])

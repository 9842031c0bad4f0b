"""tools/anchors on a made-up checkout: what it says when upstream's file changes.

usage: anchors.py SOURCE_ROOT
"""
import pathlib
import subprocess
import sys
import tempfile

RULE = '''id: XXX101
cases:
  - id: lm
    for: {megatron-lm: ""}
    evidence:
      - {repo: made/up, commit: "1", path: pkg/check.py, lines: "4", kind: assert}
'''
BEFORE = '''def validate(args):
    if args.fsdp:
        args.a = 1
        assert args.tp == 1, "needs one"
'''
# what is asked, the file afterwards (None: removed), another file, the verdict, to review
ROWS = [
    ('nothing changed', BEFORE, '', 'same: 1', 'none'),
    ('layout and comments do not count',
     BEFORE.replace('assert args.tp == 1, "needs one"', "assert (args.tp  ==  1), 'needs one'  # !"),
     '', 'same: 1', 'none'),
    ('lines before it', 'import os\n' + BEFORE, '', 'check.py:4 moved to pkg/check.py:5', 'none'),
    ('into another file', 'import os\n', BEFORE, 'check.py:4 moved to pkg/other.py:4', 'none'),
    ('another message', BEFORE.replace('needs one', 'wants one'), '',
     'check.py:4 changed, see pkg/check.py:4', 'XXX101'),
    ('another condition', BEFORE.replace('== 1', '<= 2'), '', 'check.py:4 gone', 'XXX101'),
    ('the file is gone', None, '', 'check.py:4 gone', 'XXX101'),
    ('the file cannot be read', 'def (', '', 'check.py:4 gone', 'XXX101'),
]


def run(tool, folder, *more):
    return subprocess.run([sys.executable, tool, '--rules', folder / 'rules', '--known',
                           folder / 'known.tsv', *more, f'made/up={folder / "tree"}'],
                          capture_output=True, text=True)


def main():
    tool = pathlib.Path(sys.argv[1]) / 'tools/anchors'
    failed = 0
    for number, (name, after, other, verdict, review) in enumerate(ROWS, 1):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            (folder / 'rules/topic').mkdir(parents=True)
            (folder / 'rules/topic/x.yaml').write_text(RULE)
            package = folder / 'tree/pkg'
            package.mkdir(parents=True)
            (package / 'check.py').write_text(BEFORE)
            run(tool, folder, '--learn')
            if after is None:
                (package / 'check.py').unlink()
            else:
                (package / 'check.py').write_text(after)
            (package / 'other.py').write_text(other)
            result = run(tool, folder)
            ok = (verdict in result.stdout and f'rules to review: {review}\n' in result.stdout
                  and result.returncode == (review != 'none'))
            failed += not ok
            print(f"{'ok' if ok else 'not ok'} {number} - {name}")
            if not ok:
                print('# ' + (result.stdout + result.stderr).replace('\n', '\n# '))
    print(f'1..{len(ROWS)}')
    return failed > 0


try:
    import yaml  # noqa: F401, the tool needs it
except ImportError:
    print('1..0 # skipped: python3-yaml is absent')
    sys.exit(0)
sys.exit(main())

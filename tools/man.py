"""The manual page, from the program's own description of its commands.

usage: tools/man.py build/shardlint > shardlint.1
"""
import subprocess
import sys


def ask(*words):
    return subprocess.run([sys.argv[1], *words], check=True, capture_output=True, text=True).stdout


def escape(text):
    return text.replace('\\', '\\e').replace('-', '\\-').replace("'", '\\(aq')


def commands():
    for line in ask('--help').splitlines():
        if line.startswith('  '):
            name, _, summary = line.strip().partition(' ')
            yield name, summary.strip()


def options(command):
    done = subprocess.run([sys.argv[1], command, '--describe'], capture_output=True, text=True)
    for line in done.stdout.splitlines() if done.returncode == 0 else []:
        parts = line.split('\t')
        if len(parts) == 4:
            yield parts


def main():
    version = ask('version').split()[1]
    print(f'.TH SHARDLINT 1 "" "shardlint {version}" "User Commands"\n.ad l\n.nh')
    print('.SH NAME\nshardlint \\- lint the configurations of sharded distributed training')
    print('.SH SYNOPSIS\n.B shardlint\n.I COMMAND\n[\\fIOPTIONS\\fR]')
    print('.SH DESCRIPTION\nReads YAML files, launch scripts, Python recipes and overrides of '
          'Megatron\\-LM, Megatron Bridge and verl, and says what the framework will refuse, change '
          'silently or run badly. Nothing that is read is executed.')
    print('.SH COMMANDS')
    for name, summary in commands():
        print(f'.SS {escape(name)}\n{escape(summary)}')
        for names, takes_value, kind, text in options(name):
            shown = ', '.join(f'\\fB{escape(n)}\\fR' for n in names.split(','))
            value = f' \\fI{escape(kind or "VALUE")}\\fR' if takes_value == '1' else ''
            print(f'.TP\n{shown}{value}\n{escape(text)}')
    print('.SH EXIT STATUS\n0: nothing at or above the fail level. 1: findings. '
          '2: the work could not be done.')
    print('.SH ENVIRONMENT\nSHARDLINT_OUTPUT_FORMAT, SHARDLINT_OUTPUT_FILE, NO_COLOR, FORCE_COLOR.')


main()

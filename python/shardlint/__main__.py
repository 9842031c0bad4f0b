"""python -m shardlint: the program itself, with the same arguments and exit code."""
import os
import sys

from shardlint import binary

program = binary()
os.execv(program, [program, *sys.argv[1:]])

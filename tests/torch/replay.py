"""The writer still writes the bytes that torch loaded: digests recorded when round_trip.py had passed.

  replay.py WRITE_SAMPLE RECORDED [--record]
"""
import hashlib
import os
import subprocess
import sys
import tempfile


def digests(write_sample, folder):
    for ranks in (1, 2, 3):
        directory = os.path.join(folder, str(ranks))
        subprocess.run([write_sample, directory, str(ranks)], check=True)
        for name in sorted(os.listdir(directory)):
            if name.endswith('.distcp'):  # .metadata holds the path and an id of the save
                with open(os.path.join(directory, name), 'rb') as file:
                    yield '%d %s %s' % (ranks, name, hashlib.sha256(file.read()).hexdigest())


def main():
    with tempfile.TemporaryDirectory() as folder:
        now = list(digests(sys.argv[1], folder))
    if sys.argv[3:] == ['--record']:
        with open(sys.argv[2], 'w') as file:
            file.write('\n'.join(now) + '\n')
    with open(sys.argv[2]) as file:
        recorded = file.read().splitlines()
    for line in now:
        print('%s - %s' % ('ok' if line in recorded else 'not ok', line.rsplit(' ', 1)[0]))
    sys.exit(now != recorded)


main()

"""What tests of the recorded cases share: the environment, and what a case takes for granted."""
import os

outside = {k: v for k, v in os.environ.items() if not k.startswith('SHARDLINT_')}


def assumptions(expect):
    """Flags for what a case takes for granted of machine and versions."""
    assume = expect.get('assume', {})
    words = ['--world-size', str(assume['world_size'])] if 'world_size' in assume else []
    if 'gpu_arch' in assume:
        words += ['--gpu', 'sm_' + str(assume['gpu_arch']).replace('.', '')]
    for name, framework in (('verl', 'verl'), ('megatron_core', 'megatron-lm')):
        version = str(assume.get(name, '')).removeprefix('<=').strip()
        if version[:1].isdigit():
            words += ['--target', f'{framework}=={version}']
    return words

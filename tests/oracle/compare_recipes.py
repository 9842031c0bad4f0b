"""Compare what run_recipes.py saw with what python-facts read: every value claimed as known has to
be the value that running gives.

    compare_recipes.py RAN.jsonl READ.jsonl

Prints the figures, one per line as `name: value`, and every difference. Exit status 1 when there is
any. Values that running cannot tell are left out: fields that a model's own files would give
(nothing but what the recipe assigns is claimed for those), sets, functions.
"""
import collections
import json
import sys

KEYS = ('dist.use_megatron_fsdp ddp.use_megatron_fsdp ddp.data_parallel_sharding_strategy '
        'checkpoint.ckpt_format checkpoint.save checkpoint.load train.micro_batch_size '
        'train.global_batch_size').split()
MODEL_KEYS = ('model.tensor_model_parallel_size model.pipeline_model_parallel_size '
              'model.context_parallel_size model.expert_model_parallel_size '
              'model.expert_tensor_parallel_size').split()


def unknown(value):
    return isinstance(value, dict) and 'unknown' in value and 'detail' in value


def same(ran, read):
    if unknown(read):
        if read.get('domain'):
            return any(same(ran, one) for one in read['domain'])
        return not (read['not_null'] and ran is None)
    if isinstance(read, dict) and 'float' in read:
        return isinstance(ran, float) and ran == float(read['float'].strip('.'))
    if isinstance(ran, dict) and ('object' in ran or 'unordered' in ran):
        return True
    if isinstance(ran, list) and isinstance(read, list):
        return len(ran) == len(read) and all(same(a, b) for a, b in zip(ran, read))
    if isinstance(ran, dict) and isinstance(read, dict):
        return ran.keys() == read.keys() and all(same(ran[k], read[k]) for k in ran)
    if isinstance(ran, float) or isinstance(read, float):
        return ran == read
    return ran == read and type(ran) is type(read)


def main():
    ran, read, problems = {}, {}, {}
    for line in open(sys.argv[1]):
        if not line.startswith('{'):
            continue  # what the code under test prints
        one = json.loads(line)
        ran[one['file'], one['instance']] = one
    for line in open(sys.argv[2]):
        one = json.loads(line)
        if 'facts' in one:
            read[one['file'], one['instance']] = one
        elif 'line' in one:
            problems[one['file'], one['message'].split('(')[0]] = one
    figures = collections.Counter()
    different = []
    resolved = collections.Counter()
    for key, one in read.items():
        for name in KEYS + MODEL_KEYS:
            value = one['facts'].get(name, {'unknown': 'absent', 'detail': '', 'not_null': False})
            known = not unknown(value) or value['not_null']
            resolved[name, 'known' if known else value['unknown']] += 1
    for key, one in ran.items():
        if 'error' in one:
            figures['ran_and_raised'] += 1
            if key in read:
                figures['raised_but_read'] += 1
            if key in problems and problems[key]['code'] == 'PYT104':
                figures['raised_and_said_so'] += 1
            continue
        figures['ran'] += 1
        if key not in read:
            figures['ran_but_not_read'] += 1
            different.append((key, 'the function', 'returned', problems.get(key, {}).get('message')))
            continue
        for name, value in read[key]['facts'].items():
            if name in read[key].get('published', ()):
                continue  # a model's own figure; what ran had a stand-in
            if name.startswith('env.'):
                continue  # as the program would export it
            if name.startswith('env_vars.'):
                real = one['facts'].get('env_vars', {}).get(name[9:], '<absent>')
            elif name == 'env_vars':
                real = one['facts'].get('env_vars', {})
            else:
                real = one['facts'].get(name, '<absent>')
            if name.startswith('model.') and one['opaque'] and (
                    name == 'model._type' or unknown(value)):
                figures['opaque_values'] += 1
                continue
            figures['unknown_values' if unknown(value) else 'known_values'] += 1
            if name.endswith('._type') and unknown(value):
                continue
            if real == '<absent>' and any(k.startswith(name + '.') for k in one['facts']):
                if unknown(value):
                    continue
            if not same(real, value):
                different.append((key, name, real, value))
        for name, value in one['facts'].items():
            if name in read[key]['facts'] or name.startswith('env_vars') or name == '_type':
                continue
            if name.startswith('model.') and one['opaque']:
                continue
            figures['values_not_mentioned'] += 1
            different.append((key, name, value, '<not mentioned>'))
    figures['differing_values'] = len(different)
    for (file, instance), name, real, value in different[:4000]:
        print(f'{file.split("/bridge/")[-1]} {instance}: {name}: ran {real!r}, read {value!r}')
    total = len(read)
    for name in KEYS + MODEL_KEYS:
        rest = {why: n for (k, why), n in resolved.items() if k == name and why != 'known'}
        print(f'resolved {name}: {resolved[name, "known"]} of {total} {rest or ""}')
    for name, count in sorted(figures.items()):
        print(f'{name}: {count}')
    print(f'read: {total}')
    return 1 if different else 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Writes rules/schema/megatron-lm.yaml from a git directory of NVIDIA/Megatron-LM.

usage: megatron_lm.py GIT_DIR OUT"""
import sys

import argparse_flags
import catalogue
import classes
from class_tables import Tables, qualified
from source import Checkout, Program

VERSIONS = [(v, "core_v" + v) for v in
            ("0.12.0", "0.12.1", "0.12.2", "0.12.3", "0.13.0", "0.13.1", "0.14.0", "0.15.0",
             "0.15.1", "0.15.2", "0.15.3", "0.16.0", "0.16.1", "0.17.0", "0.17.1", "0.18.0",
             "0.18.2", "0.19.0")] + [("0.20.0", "d98e8a64")]

# Classes that a dest's class default is looked up in, in this order, with how arguments are
# copied into them where the names differ.
CLASSES = [
    ("megatron.core.transformer.transformer_config", "TransformerConfig"),
    ("megatron.core.transformer.transformer_config", "MLATransformerConfig"),
    ("megatron.core.distributed.distributed_data_parallel_config", "DistributedDataParallelConfig"),
    ("megatron.core.optimizer.optimizer_config", "OptimizerConfig"),
]
TRAINING = ["CheckpointConfig", "DistributedInitConfig", "LoggerConfig", "ProfilingConfig",
            "RerunStateMachineConfig", "RNGConfig", "SchedulerConfig", "StragglerDetectionConfig",
            "TokenizerConfig", "TrainingConfig", "ValidationConfig"]
RENAMED = {  # argparse dest -> field of the class that the program copies it into
    "ddp_bucket_size": "bucket_size", "ddp_num_buckets": "num_buckets",
    "ddp_average_in_collective": "average_in_collective",
    "ddp_pad_buckets_for_high_nccl_busbw": "pad_buckets_for_high_nccl_busbw",
    "ddp_reduce_scatter_with_fp32_accumulation": "reduce_scatter_with_fp32_accumulation",
    "accumulate_allreduce_grads_in_fp32": "grad_reduce_in_fp32",
    "check_for_nan_in_loss_and_grad": "check_for_nan_in_grad",
    "num_experts": "num_moe_experts", "fp8_param_gather": "fp8_param",
    "fp4_param_gather": "fp4_param",
    "decoder_first_pipeline_num_layers": "num_layers_in_first_pipeline_stage",
    "decoder_last_pipeline_num_layers": "num_layers_in_last_pipeline_stage"}
KIND = {"integer": "int", "real": "float", "text": "str", "boolean": "bool", "enum_name": "choice",
        "pattern": "any", "integer_tuple": "list[int]", "other": "any"}
PATHS = {"save", "load", "pretrained_checkpoint", "tensorboard_dir", "data_cache_path", "yaml_cfg",
         "tokenizer_model", "vocab_file", "merge_file", "ckpt_convert_save",
         "non_persistent_global_ckpt_dir", "non_persistent_local_ckpt_dir"}


def key_type(option):
    if option["action"] in ("store_true", "store_false", "boolean_optional"):
        kind = "bool"
    elif option.get("choices"):
        kind = "choice"
    else:
        kind = KIND[option.get("convert", "text")]
        if kind == "str" and option["dest"] in PATHS:
            kind = "path"
    if option.get("nargs") not in (None, "?") and not kind.startswith("list"):
        kind = f"list[{kind}]"
    return kind + ("?" if option.get("default", 0) is None else "")


def keys(options, tables):
    """One row a dest: type, choices, both defaults."""
    seen = {}
    for option in options:
        dest = option["dest"]
        if option.get("entry"):
            continue
        if dest in seen:  # argparse: the first action's default holds
            choices = option.get("choices")
            if choices and "choices" in seen[dest]:
                seen[dest]["choices"] += [c for c in choices if c not in seen[dest]["choices"]]
            continue
        row = {"name": dest, "type": key_type(option)}
        if option.get("choices"):
            row["choices"] = list(option["choices"])
        if option.get("computed"):
            row["cli_computed"] = True
        else:
            row["cli"] = option["default"]
        field = tables.get(RENAMED.get(dest, dest))
        if field:
            row["owner"] = field["class"].rpartition(".")[2]
            if "default" in field:
                row["cls"] = field["default"]
            elif field.get("computed"):
                row["computed"] = True
        row["at"] = option["at"]
        seen[dest] = row
    return seen.values()


def training_class(program, name):
    for module in ("megatron.training.config", "megatron.training.training_config",
                   "megatron.training.common_config", "megatron.training.resilience_config"):
        found = program.module(module)
        target = found.resolve(name) if found else None
        if target:
            return target
    return None


def main(git_dir, out):
    names = [v for v, _ in VERSIONS]
    option_rows = catalogue.Rows(names, lambda r: (r["flags"][0], r.get("entry", "")))
    key_rows = catalogue.Rows(names, lambda r: r["name"])
    class_rows = catalogue.Rows(names, lambda r: r["class"])
    field_rows = catalogue.Rows(names, lambda r: (r["class"], r["name"]))
    section_rows = catalogue.Rows(names, lambda r: r["section"])
    heads = []
    for index, (version, tag) in enumerate(VERSIONS):
        checkout = Checkout(git_dir, tag)
        program = Program([("megatron", checkout, "")])
        tables = Tables()
        wanted = [program.module(m).resolve(c) for m, c in CLASSES if program.module(m)]
        wanted += [training_class(program, c) for c in TRAINING]
        for target in wanted:
            if target:
                tables.add(target)
        container = program.module("megatron.training.config")
        container = container.resolve("PretrainConfigContainer") if container else None
        if container:
            for field in classes.fields(*container).values():
                found = classes.annotation(field.module, field.annotation).classes
                if found:
                    section_rows.add(index, {"section": field.name,
                                             "classes": [tables.add(t) for t in found],
                                             "at": field.anchor})
        by_name = {}
        for target in wanted:
            if target:
                for base in reversed([target] + classes.linearize(*target)[1:]):
                    for row in tables.fields:
                        if row["class"] == qualified(base):
                            by_name.setdefault(row["name"], row)
        options = argparse_flags.options(program)
        for row in keys(options, by_name):
            key_rows.add(index, row)
        taken = {f for o in options for f in o["flags"]}
        extra = [o for o in argparse_flags.extras(checkout, program)
                 if not taken.intersection(o["flags"])]
        for option in options + extra:
            row = {k: v for k, v in option.items()
                   if k not in ("owner", "field", "default", "computed")}
            option_rows.add(index, row)
        for row in tables.classes.values():
            class_rows.add(index, row)
        for row in tables.fields:
            field_rows.add(index, row)
        heads.append({"version": version, "tag": tag, "commit": checkout.commit,
                      "released": tag.startswith("core_v")})
        print(f"megatron-lm {version}: {len(options)} options, {len(extra)} of scripts, "
              f"{len({o['dest'] for o in options})} keys, {len(tables.classes)} classes, "
              f"{len(tables.fields)} fields", file=sys.stderr)
        checkout.close()
    catalogue.write(out, [
        "# Made by tools/extract_schema/megatron_lm.py; do not edit. `in` names the versions for",
        "# which a row holds (absent: all), `at` the newest of their sources.",
        "schema: shardlint/keys@1", "framework: megatron-lm", "repository: NVIDIA/Megatron-LM"],
        {"versions": heads, "keys": key_rows.sorted(), "options": option_rows.sorted(),
         "sections": section_rows.sorted(), "classes": class_rows.sorted(),
         "fields": field_rows.sorted()})


if __name__ == "__main__":
    main(*sys.argv[1:])

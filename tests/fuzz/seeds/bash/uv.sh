uv run --no-sync --python 3.12 python -m torch.distributed.run --nproc_per_node=2 scripts/training/run_recipe.py --recipe r

python -m torch.distributed.run --nproc-per-node gpu --nnodes=1 train.py

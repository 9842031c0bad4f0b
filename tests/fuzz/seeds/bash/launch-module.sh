python3 -m torch.distributed.launch --use_env --nproc_per_node 4 pretrain_bert.py

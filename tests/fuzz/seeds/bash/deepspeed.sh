deepspeed --num_gpus 4 --num_nodes=2 pretrain_gpt.py q

accelerate launch --num_processes 8 --use_fsdp train.py q

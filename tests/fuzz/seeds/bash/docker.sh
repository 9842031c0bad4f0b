docker run --gpus all -e B=2 -v /a:/b img torchrun pretrain_gpt.py

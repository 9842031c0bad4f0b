D=$(python3 -c 'import torch_npu' && echo npu || echo gpu)
run $D

M=$HOME/models/Qwen3-8B
run ${M##*/} $(basename "$M") ${M%/*}

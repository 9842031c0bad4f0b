V=/m/Qwen3-8B.tar.gz
run ${V##*/} ${V%%.*} ${V#*-} ${V%.gz} ${V/Qwen/Q} ${V//\//_} ${#V}

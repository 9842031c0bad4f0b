C="run --n ${N:-8}"
eval $C "'a b'"
eval "$C \$V"

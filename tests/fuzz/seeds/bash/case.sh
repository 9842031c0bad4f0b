T=gpt-7b
case $T in llama*) S=1;; gpt-*|x) S=2;; *) S=3;; esac
run $S

#!/bin/bash
# sandbox.sh REPOSITORY LOG SCRIPT [NAME=VALUE...]: runs SCRIPT of REPOSITORY with a real bash, in namespaces of its
# own without network, on a read-only root without capabilities. What would launch something is a
# stub that writes its words to LOG. Called by bash_oracle.py through unshare; a development tool.
set -e
repository=$1 log=$2 script=$3
shift 3
mount --make-rprivate /
mount --bind / /
mount -t tmpfs tmpfs /sys
mount -t tmpfs tmpfs /mnt 2>/dev/null || true
mkdir -p /dev/shm
holder=$(mktemp -d /tmp/oracle.XXXXXX)
mount -t tmpfs tmpfs "$holder"
mkdir "$holder"/{upper,work,tmp,stubs,log}
: > "$holder/log/words"
cat > "$holder/stubs/stub" <<'STUB'
#!/bin/bash
name=${0##*/}
printf '%s\0' "$(($# + 1))" "$name" "$@" >> /tmp/log/words
case $name in
  sbatch|srun)
    while [ $# -gt 0 ]; do
      case ${1##*/} in
        bash|sh) exec "$@" ;;
        *.sh|*.sbatch|*.slurm) [ -f "$1" ] && exec bash "$@" ;;
      esac
      shift
    done
    [ "$name" = sbatch ] && [ ! -t 0 ] && exec bash
    ;;
  nvidia-smi|npu-smi) exit 1 ;;
  python*) case "$*" in *torch_npu*) exit 1 ;; esac ;;
esac
exit 0
STUB
chmod +x "$holder/stubs/stub"
for name in python python3 python3.10 python3.11 python3.12 torchrun uv ray srun sbatch mpirun mpiexec docker \
  accelerate deepspeed nvidia-smi npu-smi pip pip3 git curl wget ssh scp huggingface-cli hf sleep \
  apt apt-get conda kill pkill killall sudo rsync nsys numactl squeue scontrol hostname aws gsutil wandb pytest \
  coverage kubectl enroot tee jq; do
  ln -s stub "$holder/stubs/$name"
done
rm "$holder/stubs/tee" "$holder/stubs/jq"
mount -t overlay overlay -o "lowerdir=$repository,upperdir=$holder/upper,workdir=$holder/work" "$repository"
mount --bind "$log" "$holder/log"
mount -o remount,bind,ro /
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount --rbind "$holder" /tmp
cd "$repository"
exec env -i PATH=/tmp/stubs:/usr/bin:/bin HOME=/tmp/tmp TERM=dumb "$@" \
  setpriv --bounding-set=-all --inh-caps=-all --no-new-privs \
  timeout -s KILL 10 bash "$script" </dev/null >/tmp/tmp/out 2>&1

D=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$D/env.sh"
run $N

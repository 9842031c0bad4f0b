while read -r l; do run $l; done <<EOF
a 1
b
EOF

cat > job.sh <<'EOF'
run $1
EOF
sbatch job.sh a

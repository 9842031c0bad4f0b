L=(python3)
if probe; then L=(uv run python3); fi
"${L[@]}" -m verl.trainer.main_ppo a=1 b=2

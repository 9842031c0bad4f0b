ray job submit --runtime-env-json='{"env_vars": {"A": "1"}}' --no-wait -- python3 -m verl.trainer.main_ppo x=1

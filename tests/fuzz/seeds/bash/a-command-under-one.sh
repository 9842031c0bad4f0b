if probe; then run a; else run b; fi

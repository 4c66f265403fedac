"""What this machine has and lacks for the program, and the settings that suit it."""

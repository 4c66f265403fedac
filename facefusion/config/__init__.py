"""What an option is and where its value comes from. Knows no particular option of another package."""

"""Jobs: steps kept in a file, to be run now or later, by this process or another."""

"""What files say of how they were made: marks that are written into results, and found in files of anybody's."""

"""What the program is made of, besides itself: packages and models, their licences and their hashes."""

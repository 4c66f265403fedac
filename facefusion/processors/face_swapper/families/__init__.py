"""Model families that swap faces, one folder or file each."""

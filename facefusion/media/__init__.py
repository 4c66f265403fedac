"""Reading and writing media through PyAV and Pillow; nothing else imports them.

PyAV's own logging stays off, as it is by default: its callback needs Python's global lock, and a decoder's thread that
logs while a container is being closed would wait for it for ever.
"""

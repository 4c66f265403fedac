"""The source type in a file's XMP packet (ISO 16684-1), and where each format keeps that packet (XMP part 3, 2020).

:mod:`packet` knows what a packet says, :mod:`read` and :mod:`write` find and put it; the others know one format each.
"""

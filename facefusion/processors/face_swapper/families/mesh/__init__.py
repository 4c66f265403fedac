"""The mesh family: the source's skin on the target's tracked 3D mesh."""

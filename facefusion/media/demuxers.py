"""Which kinds of files FFmpeg may read, and that it reads nothing else.

A list to join, a playlist or a session description is a text that has FFmpeg open further files, or a connection, as
soon as it is opened itself: whoever sends such a text under the name of a video would see in the result what only the
reader may see. Others of FFmpeg's readers open files beside the one that is named (numbered pictures, subtitles of
DVDs, parts of a recording). And hundreds read formats of games and machines of old, whose decoders nobody looks after
any more. So what may be read is written down, and all else is refused by its content before anything of it is decoded.
"""

from __future__ import annotations

DEMUXERS = (
    # containers of cameras, phones, programs and broadcasters
    "asf", "avi", "cine", "dhav", "dv", "flv", "gxf", "ivf", "live_flv", "lxf", "matroska", "mov", "mpeg", "mpegts",
    "mxf", "nsv", "nut", "nuv", "ogg", "pva", "rm", "swf", "ty", "wtv", "yuv4mpegpipe",
    # streams of one codec, without a container
    "apv", "av1", "avs2", "avs3", "cavsvideo", "dirac", "dnxhd", "evc", "h261", "h263", "h264", "hevc", "m4v", "mjpeg",
    "mpegvideo", "obu", "smjpeg", "vc1", "vvc",
    # animated images, whose sound and titles are asked for as of any video
    "apng", "gif", "webp_pipe",
    # sound
    "aac", "ac3", "ac4", "aiff", "amr", "ape", "au", "caf", "dsf", "dts", "dtshd", "eac3", "flac", "loas", "mlp", "mp3",
    "mpc", "mpc8", "oma", "tak", "truehd", "tta", "voc", "w64", "wav", "wv",
)  # fmt: skip
"""By FFmpeg's names. None of them opens another file; those of MOV do where that is allowed, which it is not."""

READING = {"format_whitelist": ",".join(DEMUXERS), "protocol_whitelist": "file"}
"""What FFmpeg is told of a container that it opens for reading."""

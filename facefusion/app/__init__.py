"""Where the parts are put together. Nothing here works on pixels; nothing below knows what stands beside it."""

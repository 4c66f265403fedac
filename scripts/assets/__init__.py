"""Makes the demo and benchmark media out of two public-domain portraits."""

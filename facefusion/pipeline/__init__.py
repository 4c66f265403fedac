"""Order, back-pressure and cancellation of the work on frames."""

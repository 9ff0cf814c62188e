"""Images and videos: the time grid, probing, sampled frames, on-screen text."""

"""What all tests share."""

from __future__ import annotations

import hypothesis

# Tests share two slow cores with each other; how long an example takes says nothing about the code.
hypothesis.settings.register_profile("canopy", deadline=None)
hypothesis.settings.load_profile("canopy")
